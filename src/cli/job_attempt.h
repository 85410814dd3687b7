// SPDX-License-Identifier: Apache-2.0
// One attempt of a job that `launch --sbatch` has written: takes the plan for the nodes that it
// got, continues from the newest checkpoint and, when it was stopped, lets Slurm start another.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cli/train_options.h"

namespace tessera {

struct AttemptOptions {
  std::filesystem::path plan;         // job/plan.json
  std::vector<std::string> launcher;  // srun and its options
  std::vector<std::string> words;     // after `train`
  TrainOptions options;               // what they say
  RestartOptions restarts;
};

// Throws ExitStatus if the run fails.
void run_attempt(const AttemptOptions& attempt);

}  // namespace tessera
