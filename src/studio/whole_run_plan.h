// SPDX-License-Identifier: Apache-2.0
// A whole run as the command line asks for it: what a step becomes over all tokens, its days and
// its price, and the same for other numbers of ranks.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "files/json.h"
#include "planner/run_forecast.h"

namespace tessera {

struct WholeRunTask {
  double tokens = 0;
  RunConditions conditions = {};
  ForecastOptions options = {};
  double price_per_rank_hour = 0;  // 0: not asked for
};

struct WholeRunPlan {
  WholeRun run;
  RunForecast forecast;
  double price_per_rank_hour = 0;

  int paid_ranks() const;  // spares are paid for, too
  double days() const;     // mean
  double rank_hours() const;
  double price() const { return rank_hours() * price_per_rank_hour; }
};

// One step of `tokens_per_step` takes `step_seconds` on `ranks` ranks.
WholeRunPlan plan_whole_run(const WholeRunTask& task, double tokens_per_step, int ranks,
                            double step_seconds);

// One number of ranks of a comparison.
struct RankCount {
  int ranks = 1;
  std::string plan = {};                 // the best one
  std::optional<WholeRunPlan> run = {};  // none: see `problem`
  std::string problem = {};
};

// Of ranks that were added since the row before: the share of the work that they would do if the
// run became faster in proportion. Nothing for the first row that has a run.
std::optional<double> added_share(const std::vector<RankCount>& counts, size_t row);
inline constexpr double kLeastAddedShare = 0.5;  // below, more ranks no longer pay
// The last row before the one from which on added ranks do less than half of their work; nothing if
// there is none.
std::optional<size_t> last_that_pays(const std::vector<RankCount>& counts);

Json to_json(const WholeRunPlan& plan);
Json to_json(const std::vector<RankCount>& counts);
Json to_json(const std::vector<Sensitivity>& rows);

}  // namespace tessera
