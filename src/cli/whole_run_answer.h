// SPDX-License-Identifier: Apache-2.0
// What `tessera plan` answers about a whole run: of its own plan, of other numbers of ranks, and of
// other figures.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/whole_run_options.h"
#include "planner/search.h"
#include "sim/unknowns.h"

namespace tessera {

class WholeRunAnswer {
 public:
  // Without --tokens it has nothing to say. Throws a UserError.
  WholeRunAnswer(const WholeRunOptions& options, const Cluster& cluster, uint64_t seed);

  // Of a step that takes `step_seconds`.
  void answer(const PlanTask& task, double step_seconds);
  // --compare-ranks: a search for each number of ranks but the task's own, which was `found`
  // already.
  using Search = std::function<SearchResult(const PlanTask&)>;
  void compare(const PlanTask& task, const SearchResult& found, const Search& search);
  // --run-svg
  void draw(const std::string& title) const;

  // Steps between two checkpoints that lose least; nothing where they were not asked for.
  std::optional<int64_t> save_every() const;
  void add_to(Json& json) const;
  void print() const;

 private:
  RankCount count_of(const PlanTask& task, const SearchResult& found) const;

  const WholeRunOptions& options_;
  std::optional<WholeRunTask> task_;
  std::optional<WholeRunPlan> plan_;
  std::vector<RankCount> counts_;
  std::vector<Sensitivity> sensitivities_;
  std::vector<Unknown> unknowns_;  // of the run, beside those of its step
};

}  // namespace tessera
