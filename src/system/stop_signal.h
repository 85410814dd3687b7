// SPDX-License-Identifier: Apache-2.0
// SIGINT, SIGTERM, SIGHUP (a closed terminal) and SIGUSR2 (which mpirun forwards unchanged) ask the
// run to stop after the current step, SIGUSR1 to save and continue; a second stop signal ends the
// process at once, SIGTERM not within the same second, and a terminal is told so. A process that
// starts with SIGHUP ignored (nohup) keeps ignoring it.
#pragma once

namespace tessera {

// The exit status of a training that was asked to stop before its last step: what was to follow it
// must not, and resuming continues it.
inline constexpr int kStoppedExitStatus = 7;

// Installs the handlers for its lifetime; several objects share them, and see the same signals.
class StopSignal {
 public:
  StopSignal();
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  // For the first line of main: SIGUSR1 and SIGUSR2, which would end a process without handlers,
  // stay pending until the first StopSignal.
  static void hold_until_handled();

  bool requested() const;
  const char* name() const;  // of the signal that came
  bool take_save_request();  // once for each
  // From any thread, with or without a StopSignal.
  static bool told_to_end();  // by SIGTERM
};

}  // namespace tessera
