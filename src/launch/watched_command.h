// SPDX-License-Identifier: Apache-2.0
// Runs one command to its end: it gets the signals of this process and dies with it. Nothing that
// it has started on this machine outlives it.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

#include "system/blocked_signals.h"

namespace tessera {

struct CommandWatch {
  int stop_signal = 0;  // a stop signal is forwarded as this one; 0: unchanged
  // Called several times a second: whether the command has nothing left to do, though it is still
  // running. It then has `seconds_to_end` to end, and is killed.
  std::function<bool(pid_t command)> over = {};
  double seconds_to_end = 120;
  // Called as often: whether the command shall save and end, to be started again otherwise. It is
  // sent what a stop signal is forwarded as, once.
  std::function<bool()> must_move = {};
};

struct CommandEnd {
  int status = 0;       // as waitpid() gives it
  int asked = 0;        // the signal to stop that it was sent; 0: none
  bool killed = false;  // by us: it did not end when it should have
  bool moved = false;   // it was asked to save and end, to be started again

  int code() const;  // the exit code that a shell would give
  std::string text() const;
};

bool asks_to_stop(int signal);

// The signals that watch_command() reads must be blocked. A tessera process starts with blocked
// signals and handles them later; a launcher would never see them, and starts with none blocked.
pid_t start_command(const std::vector<std::string>& command, const std::vector<std::string>& unset,
                    const BlockedSignals& signals, bool is_launcher);

// The first stop signal is forwarded to the command; a later SIGINT or SIGTERM kills it, as does
// one that arrives when it has nothing left to do. SIGUSR1 is forwarded unchanged.
CommandEnd watch_command(pid_t command, const BlockedSignals& signals, const CommandWatch& watch);

}  // namespace tessera
