// SPDX-License-Identifier: Apache-2.0
// SIGINT and SIGTERM ask the run to stop after the step under way; a second one ends the process at
// once.
#pragma once

namespace tessera {

// Installs the handlers for its lifetime; one at a time.
class StopSignal {
 public:
  StopSignal();
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  bool requested() const;
  const char* name() const;  // of the signal that came
};

}  // namespace tessera
