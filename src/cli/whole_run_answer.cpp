// SPDX-License-Identifier: Apache-2.0
#include "cli/whole_run_answer.h"

#include <fmt/format.h>

#include <set>

#include "cli/cluster_option.h"
#include "core/error.h"
#include "files/atomic_file.h"
#include "studio/pictures/rank_counts_svg.h"
#include "studio/plan_search.h"
#include "studio/simulated_step.h"

namespace tessera {

WholeRunAnswer::WholeRunAnswer(const WholeRunOptions& options, const Cluster& cluster,
                               uint64_t seed)
    : options_(options) {
  if (options.asked()) task_ = options.task(cluster, seed);
}

void WholeRunAnswer::answer(const PlanTask& task, double step_seconds) {
  if (!task_) return;
  plan_ = plan_whole_run(*task_, static_cast<double>(task.run.tokens_per_step()), task.ranks,
                         step_seconds);
  unknowns_ = unknowns_of(
      {.cluster = task.cluster, .run = task.run, .options = {}, .step = false, .whole_run = true});
  if (options_.sensitivity) sensitivities_ = sensitivities(plan_->run, task_->options);
}

RankCount WholeRunAnswer::count_of(const PlanTask& task, const SearchResult& found) const {
  RankCount count{.ranks = task.ranks};
  try {
    if (found.ranked.empty()) throw no_plan(task, found);
    const Trial& best = found.ranked.front();
    count.plan = to_string(best.candidate);
    count.run = plan_whole_run(*task_, static_cast<double>(task.run.tokens_per_step()), task.ranks,
                               best.simulation.step_seconds);
  } catch (const UserError& error) {
    count.problem = error.message();
  }
  return count;
}

void WholeRunAnswer::compare(const PlanTask& task, const SearchResult& found,
                             const Search& search) {
  if (options_.compare_ranks.empty()) return;
  std::set<int> all{task.ranks};
  for (const int64_t ranks : options_.compare_ranks) all.insert(static_cast<int>(ranks));
  for (const int ranks : all) {
    PlanTask other = task;
    other.ranks = ranks;
    counts_.push_back(ranks == task.ranks ? count_of(task, found) : count_of(other, search(other)));
  }
}

void WholeRunAnswer::draw(const std::string& title) const {
  if (options_.svg.empty()) return;
  write_file_atomically(options_.svg, rank_counts_svg(counts_, title));
}

std::optional<int64_t> WholeRunAnswer::save_every() const {
  if (!plan_) return {};
  return plan_->forecast.choices.save_every;
}

void WholeRunAnswer::add_to(Json& json) const {
  if (!plan_) return;
  json["whole_run"] = to_json(*plan_);
  json["whole_run"]["unknown"] = to_json(unknowns_);
  if (!counts_.empty()) json["rank_counts"] = to_json(counts_);
  if (!sensitivities_.empty()) json["sensitivity"] = to_json(sensitivities_);
}

void WholeRunAnswer::print() const {
  if (!plan_) return;
  print_whole_run(options_, *task_, *plan_);
  fmt::print("\n");
  print_unknowns(unknowns_);
  if (!counts_.empty()) print_rank_counts(counts_);
  if (!sensitivities_.empty()) print_sensitivities(sensitivities_);
}

}  // namespace tessera
