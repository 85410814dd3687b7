// SPDX-License-Identifier: Apache-2.0
// Restarts a failed `tessera train` from its newest checkpoint: for `train --supervise` on this
// machine, and for `tessera launch` under mpirun or srun.
#pragma once

#include <array>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command_line.h"
#include "config/config.h"

namespace tessera {

struct RestartOptions {
  int restarts = 100;
  double patience_seconds = 300;  // before giving up without progress
};
inline constexpr std::array<std::string_view, 2> kRestartOptions{"--restarts", "--patience"};
void add_restart_options(Command command, RestartOptions& options, const std::string& when);

struct SupervisedRun {
  Config config;
  std::vector<std::string> words;     // after `tessera train`, of the first start
  std::vector<std::string> launcher;  // mpirun or srun with its options; empty: none
  // The full command for N ranks, around the words after `tessera train`.
  std::function<std::vector<std::string>(std::vector<std::string> launcher, int ranks,
                                         std::vector<std::string> words)>
      command;
  RestartOptions options;
  int stop_signal = 0;      // a stop signal is forwarded as this one; 0: unchanged
  std::string run_id = {};  // empty: drawn, or the resumed run's
};

// Throws ExitStatus if the run fails.
void supervise_run(const SupervisedRun& run);

// This program's file.
std::string own_path();

}  // namespace tessera
