// SPDX-License-Identifier: Apache-2.0
// A `tessera train` that is started again from its newest checkpoint when it fails: by
// `train --supervise` on this machine, by `tessera launch` around mpirun or srun.
#pragma once

#include <functional>
#include <string>
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
void add_restart_options(Command command, RestartOptions& options, const std::string& when);

struct SupervisedRun {
  Config config;
  std::vector<std::string> words;  // behind `tessera train`, of the first start
  // The command around words behind `tessera train`, on a mesh.
  std::function<std::vector<std::string>(const Mesh& mesh, std::vector<std::string> words)> command;
  RestartOptions options;
  bool is_launched = false;  // the ranks are those of another program, which may start none
  int stop_signal = 0;       // what a signal to stop is handed on as; 0: as it came
};

// Ends with ExitStatus where the run does not end well.
void supervise_run(const SupervisedRun& run);

// This program's file.
std::string own_path();

}  // namespace tessera
