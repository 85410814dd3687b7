// SPDX-License-Identifier: Apache-2.0
// SIGINT, SIGTERM, SIGHUP (the terminal is gone) and SIGUSR2 (which mpirun hands on as it is) ask
// the run to stop after the step under way, SIGUSR1 to save and go on; a second one to stop ends
// the process at once, which is said where somebody has pressed a key. Whoever starts with SIGHUP
// ignored (nohup) goes on ignoring it.
#pragma once

namespace tessera {

// Installs the handlers for its lifetime; several share them, and know of the same signals.
class StopSignal {
 public:
  StopSignal();
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  // For the first line of main: SIGUSR1 and SIGUSR2, which would end a process that does not handle
  // them yet, wait for the first of these.
  static void hold_until_handled();

  bool requested() const;
  const char* name() const;  // of the signal that came
  bool take_save_request();  // once for each
  // From any thread, whether there is one of these or not.
  static bool told_to_end();  // by SIGTERM
};

}  // namespace tessera
