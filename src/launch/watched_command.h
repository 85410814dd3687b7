// SPDX-License-Identifier: Apache-2.0
// One start of a command, from its beginning to its end: it gets the signals of this process and
// dies with it. Nothing that it has started on this machine outlives it.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

#include "system/blocked_signals.h"

namespace tessera {

struct CommandWatch {
  int stop_signal = 0;  // what a signal to stop is handed on as; 0: as it came
  // Asked several times a second: whether the command has nothing left to do, though it is still
  // there. It is then given so many seconds to end, and is killed.
  std::function<bool(pid_t command)> over = {};
  double seconds_to_end = 120;
};

struct CommandEnd {
  int status = 0;       // as waitpid() gives it
  int asked = 0;        // the signal to stop that it was sent; 0: none
  bool killed = false;  // by us: it did not end by itself when it should have

  int code() const;  // the exit code that a shell would give
  std::string text() const;
};

bool asks_to_stop(int signal);

// The signals that watch_command() reads must be blocked. A tessera begins with signals held and
// answers them later; a launcher would never hear them, and begins with none held.
pid_t start_command(const std::vector<std::string>& command, const std::vector<std::string>& unset,
                    const BlockedSignals& signals, bool is_launcher);

// A first signal to stop is handed on to the command; a later SIGINT or SIGTERM kills it, as does
// one that comes when it has nothing left to do. SIGUSR1 goes on as it is.
CommandEnd watch_command(pid_t command, const BlockedSignals& signals, const CommandWatch& watch);

}  // namespace tessera
