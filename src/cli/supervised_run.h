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
#include "mesh/mesh.h"

namespace tessera {

struct RestartOptions {
  int restarts = 100;
  double patience_seconds = 300;  // before giving up without progress
  int least_ranks = 0;            // 0: always all
};
inline constexpr std::array<std::string_view, 3> kRestartOptions{"--restarts", "--patience",
                                                                 "--least-ranks"};
void add_restart_options(Command command, RestartOptions& options, const std::string& when);

struct SupervisedRun {
  Config config;
  std::vector<std::string> words;  // after `tessera train`, of the first start
  // The full command for the words after `tessera train`, on a mesh.
  std::function<std::vector<std::string>(const Mesh& mesh, std::vector<std::string> words)> command;
  RestartOptions options;
  bool is_launched = false;  // another program starts the ranks, and may fail to
  int stop_signal = 0;       // a stop signal is forwarded as this one; 0: unchanged
  std::string run_id = {};   // empty: drawn, or the resumed run's
};

// Throws ExitStatus if the run fails.
void supervise_run(const SupervisedRun& run);

// This program's file.
std::string own_path();

}  // namespace tessera
