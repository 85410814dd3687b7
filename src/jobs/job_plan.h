// SPDX-License-Identifier: Apache-2.0
// What a cluster job was planned as: for each number of nodes the plan and its predicted speed. It
// is kept as job/plan.json in the run's folder, so that the same number of nodes always gets the
// same plan, and with it the same bits.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace tessera {

using JobSettings = std::vector<std::pair<std::string, std::string>>;  // config keys and values

struct PlannedNodes {
  int nodes = 1, ranks = 1;
  std::string mesh = {};  // "dp=4"
  std::string plan = {};  // as a person reads it
  JobSettings settings = {};
  double step_seconds = 0;
  double run_seconds = 0;       // of the whole run, with its failures: the mean
  double long_run_seconds = 0;  // that nineteen of twenty runs take at most
  double goodput = 1;
  int64_t save_every = 0;    // steps between two checkpoints that lose least
  std::string problem = {};  // why there is no plan; empty: there is one

  bool fits() const { return problem.empty(); }
};

struct JobPlan {
  std::string run_id = {};   // of the run, over all attempts
  std::string cluster = {};  // that the speeds were predicted for
  int64_t steps = 0, tokens_per_step = 0;
  int node_ranks = 1, rank_cpus = 1;
  int min_nodes = 1, max_nodes = 1;
  double grace_seconds = 0;              // from the warning to the end
  double limit_seconds = 0;              // of one attempt
  int attempts = 1;                      // elements of the job's array; 1: no array
  std::vector<PlannedNodes> curve = {};  // by nodes; some may have a problem

  // The fastest plan for at most `nodes` nodes: it may leave some of them idle. A UserError where
  // there is none.
  const PlannedNodes& plan_for(int nodes) const;
};

inline constexpr const char* kJobFolder = "job";  // in the run's folder
std::filesystem::path job_plan_file(const std::filesystem::path& run);

void write_job_plan(const std::filesystem::path& file, const JobPlan& plan);
// A UserError where it cannot be read or is not ours.
JobPlan read_job_plan(const std::filesystem::path& file);

}  // namespace tessera
