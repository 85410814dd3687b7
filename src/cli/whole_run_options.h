// SPDX-License-Identifier: Apache-2.0
// The options of `tessera plan` that ask for a whole run instead of a step: tokens, what fails,
// what that costs, and which other numbers of ranks to compare.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "cli/command_line.h"
#include "sim/cluster.h"
#include "studio/whole_run_plan.h"

namespace tessera {

struct WholeRunOptions {
  std::string tokens, svg;
  std::vector<std::string> conditions, slowdowns;  // by row of the tables; empty: the usual value
  std::vector<int64_t> compare_ranks;
  double step_seconds = 0, price = 0;  // 0: not given
  int node_ranks = 0, runs = ForecastOptions{}.runs;
  std::optional<int> save_every, spare_nodes;
  bool sensitivity = false;

  bool asked() const { return !tokens.empty(); }
  // Throws a UserError for a value that cannot be read, or does not fit the cluster.
  WholeRunTask task(const Cluster& cluster, uint64_t seed) const;
};

void add_whole_run_options(Command command, WholeRunOptions& options);

// As text: the plan of a whole run, which of its figures were given and which were assumed.
void print_whole_run(const WholeRunOptions& options, const WholeRunTask& task,
                     const WholeRunPlan& plan);
void print_sensitivities(const std::vector<Sensitivity>& rows);
void print_rank_counts(const std::vector<RankCount>& counts);

}  // namespace tessera
