// SPDX-License-Identifier: Apache-2.0
// `tessera launch --sbatch`: plans a run for a range of nodes, writes job/plan.json and the job's
// script into the run's folder, and submits it.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command_line.h"
#include "cli/train_options.h"

namespace tessera {

struct JobOptions {
  bool asked = false;    // --sbatch
  bool dry_run = false;  // prints the script, writes and submits nothing
  std::string cluster, nodes, grace, limit, name, more;  // empty: chosen here
  int node_ranks = 0;                                    // 0: of the cluster
};

void add_job_options(Command launch, JobOptions& options);

// `words` are those after `train`.
void submit_job(const JobOptions& options, const TrainOptions& train,
                const std::vector<std::string>& words);

}  // namespace tessera
