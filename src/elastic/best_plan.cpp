// SPDX-License-Identifier: Apache-2.0
#include "elastic/best_plan.h"

#include <algorithm>
#include <chrono>

#include "core/error.h"
#include "studio/plan_search.h"
#include "studio/planned_run.h"
#include "system/seconds_since.h"
#include "system/threads.h"

namespace tessera {
namespace {

// The run waits while it is planned.
constexpr double kSearchSeconds = 1;
constexpr double kLongestSearchSeconds = 30;  // where nothing has been found yet
constexpr size_t kMostTrials = 64;            // of one number of ranks
constexpr int kMostCounts = 6;                // numbers of ranks that have a plan

// This machine, whose cores its ranks share. Ranks that a launcher starts on hosts of their own are
// taken to have a core each.
Cluster cluster_to_plan_with(const Config& config, bool is_launched) {
  if (!config.elastic.cluster.empty()) return load_cluster(config.elastic.cluster);
  if (config.run.device != DeviceKind::Cpu)
    throw user_error("nothing is known about the GPUs that plans are to be chosen for")
        .at("elastic.cluster")
        .help("name a cluster that `tessera clusters` lists, or a file");
  Cluster cluster = load_cluster("laptop");
  cluster.device.cores = is_launched ? cluster.levels.back().ranks : resolve_threads(config);
  return cluster;
}

ElasticPlan as_plan(const PlanTask& task, const Trial& trial) {
  const Mesh mesh(trial.candidate.axes.above_one());
  ElasticPlan plan{.ranks = task.ranks,
                   .mesh = to_string(mesh),
                   .text = to_string(trial.candidate),
                   .step_seconds = trial.simulation.step_seconds};
  for (const auto& [key, value] : planned_settings(task, trial)) {
    if (key == "train.precision") continue;  // it is the run's
    // The memory of a cluster in a file is not that of these ranks.
    if (key == "plan.memory" && trial.candidate.recompute != RecomputeKind::Fit) continue;
    plan.settings.emplace_back(key, value);
  }
  plan.settings.emplace_back("plan.stages", "");
  return plan;
}

}  // namespace

BestPlans::BestPlans(const Config& config, bool is_launched)
    : config_(config), cluster_(cluster_to_plan_with(config, is_launched)) {
  config_.plan_dims.clear();
  const ModelConfig model = resolve_model(config_);
  counts_by_microbatch_ = model.balance_loss > 0 && model.balance_scope == BalanceScope::Microbatch;
  check_precision(cluster_, resolve_precision(config_));
}

std::optional<ElasticPlan> BestPlans::search_on(int available, int least) const {
  const auto begin = std::chrono::steady_clock::now();
  std::optional<ElasticPlan> best;
  int counts = 0;
  const int most = std::min(available, cluster_.levels.back().ranks);
  for (int ranks = most; ranks >= std::max(1, least) && counts < kMostCounts; --ranks) {
    const double limit = best ? kSearchSeconds : kLongestSearchSeconds;
    if (seconds_since(begin) > limit) break;
    const PlanTask task = make_plan_task(config_, cluster_, ranks, [&](std::string_view key) {
      return key == "train.microbatches" && counts_by_microbatch_;
    });
    const auto in_time = [&](const SearchProgress& at) {
      return seconds_since(begin) < (best || !at.ranked.empty() ? kSearchSeconds : limit);
    };
    const SearchResult found =
        search(task, {.most_trials = kMostTrials, .threads = 1, .progress = in_time});
    if (found.ranked.empty()) continue;
    ++counts;
    const Trial& fastest = found.ranked.front();
    if (!best || fastest.simulation.step_seconds < best->step_seconds)
      best = as_plan(task, fastest);
  }
  return best;
}

const std::optional<ElasticPlan>& BestPlans::on(int available, int least) {
  const auto key = std::pair(available, least);
  const auto known = known_.find(key);
  if (known != known_.end()) return known->second;
  return known_.emplace(key, search_on(available, least)).first->second;
}

}  // namespace tessera
