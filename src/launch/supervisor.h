// SPDX-License-Identifier: Apache-2.0
// Runs a command until it ends well: what crashes is started again after a pause, a bounded number
// of times, and given up when there has been no progress for a while. The command dies with its
// supervisor.
#pragma once

#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "core/error.h"

namespace tessera {

inline constexpr int kGaveUpExitStatus = 4;      // every restart was used
inline constexpr int kNoProgressExitStatus = 5;  // failures without a new checkpoint between them

struct SupervisorOptions {
  int restarts = 100;
  // It is given up after so many failures in a row without progress, if the first of them is as
  // long ago: a switch or a file system that is away for a minute ends nothing.
  int failures_without_progress = 3;
  double patience_seconds = 300;
  double first_pause_seconds = 0.5;  // doubled after each failure without progress
  double longest_pause_seconds = 30;
  double seconds_to_end = 120;  // that a command has once it has nothing left to do
  // Exit codes of the command that no restart would change: bad input.
  std::vector<int> final_codes = {kUserExitStatus};
  int stop_signal = 0;  // what signals to stop are handed on as; 0: as they came
  std::FILE* log = stderr;
};

struct Supervised {
  std::function<std::vector<std::string>(int start)>
      command;                                     // of the first start, 0, and later ones
  std::function<int64_t()> progress;               // changes when there is any; -1: none yet
  std::vector<std::string> unset_on_restart = {};  // environment variables
  // Whether the run itself began in the start that ended with this code; else what failed is the
  // program that was to launch it, which is no failure of the run. Empty: always.
  std::function<bool(int code)> began = {};
  // Whether a command that is still there has nothing left to do. Empty: never.
  std::function<bool(int process)> over = {};
  std::function<void()> after_end = {};      // of every start
  std::function<void()> after_failure = {};  // before anything is started again
  // Asked instead of giving up without progress: whether later starts ask for less.
  std::function<bool()> ask_for_less = {};
};

struct SupervisorResult {
  int code = 0;  // the exit code to end with
  int failures = 0;
  double seconds = 0;  // that the command ran, all starts together
};

// Signals to stop (SIGINT, SIGTERM, SIGHUP, SIGUSR2) go on to the command, which is then not
// started again; a second SIGINT or SIGTERM kills it. SIGUSR1 goes on as it is. Call it before
// there are other threads or children.
SupervisorResult supervise(const Supervised& supervised, const SupervisorOptions& options);

}  // namespace tessera
