// SPDX-License-Identifier: Apache-2.0
// Runs a command until it succeeds: after a crash it is restarted after a pause, a bounded number
// of times, until there has been no progress for a while. The command dies with its supervisor.
#pragma once

#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "core/error.h"

namespace tessera {

inline constexpr int kGaveUpExitStatus = 4;      // all restarts were used
inline constexpr int kNoProgressExitStatus = 5;  // failures without a new checkpoint between them

struct SupervisorOptions {
  int restarts = 100;
  // Gives up after this many consecutive failures without progress, once the first of them is this
  // long ago: a switch or a file system that is down for a minute does not end a run.
  int failures_without_progress = 3;
  double patience_seconds = 300;
  double ready_seconds = 300;        // it waits so long for `ready`
  double first_pause_seconds = 0.5;  // doubled after each failure without progress
  double longest_pause_seconds = 30;
  double seconds_to_end = 120;  // for a command to end once it has nothing left to do
  // Exit codes of the command that no restart would change: bad input.
  std::vector<int> final_codes = {kUserExitStatus};
  int stop_signal = 0;  // stop signals are forwarded as this one; 0: unchanged
  std::FILE* log = stderr;
};

// One start of the command, from there to the end of all its processes.
struct EndedStart {
  double began_unix_seconds = 0, seconds = 0;
  double waited_seconds = 0;  // before it, until `ready`
  bool failed = false;        // else it ended well or was asked to
  bool moves = false;         // it ended as must_move asked it to, and is started again
  bool stopped = false;       // by a signal
};

struct Supervised {
  std::function<std::vector<std::string>(int start)>
      command;                                     // of the first start, 0, and later ones
  std::function<int64_t()> progress;               // changes with any progress; -1: none yet
  std::vector<std::string> unset_on_restart = {};  // environment variables
  // Whether the run itself started before the command ended with this code; if not, the launcher
  // failed, which is not a failure of the run. Empty: always.
  std::function<bool(int code)> began = {};
  // Whether a command that is still running has nothing left to do. Empty: never.
  std::function<bool(int process)> over = {};
  std::function<void()> after_end = {};                // of every start
  std::function<void(const EndedStart&)> record = {};  // the same, when it is known how it ended
  // Asked several times a second before each start: whether what it needs is there. After
  // `ready_seconds` it gives up. Empty: always.
  std::function<bool()> ready = {};
  // Asked several times a second while the command runs: whether it shall save and end, to be
  // started again at once. Empty: never.
  std::function<bool()> must_move = {};
  // Asked when it has ended so: whether there is nothing left to start it for.
  std::function<bool()> complete = {};
  std::function<void()> after_failure = {};  // before a restart
  // Called before giving up without progress: whether later starts can run with fewer resources.
  std::function<bool()> ask_for_less = {};
};

struct SupervisorResult {
  int code = 0;  // the exit code to end with
  int failures = 0;
  double seconds = 0;  // that the command ran, over all starts
};

// Stop signals (SIGINT, SIGTERM, SIGHUP, SIGUSR2) are forwarded to the command, which is then not
// restarted; a second SIGINT or SIGTERM kills it. SIGUSR1 is forwarded unchanged. Call this before
// there are other threads or children.
SupervisorResult supervise(const Supervised& supervised, const SupervisorOptions& options);

}  // namespace tessera
