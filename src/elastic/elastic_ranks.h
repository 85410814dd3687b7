// SPDX-License-Identifier: Apache-2.0
// The policy of [elastic]: on which ranks and with which plan a supervised run starts next, and
// when a run under way shall save and move. A lost rank is replaced by a spare if there is one;
// else the run continues on fewer ranks, and takes returned ones back when they have stayed for a
// while.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>

#include "elastic/best_plan.h"
#include "elastic/rank_source.h"

namespace tessera {

class ElasticRanks {
 public:
  using Moment = std::chrono::steady_clock::time_point;
  using Clock = std::function<Moment()>;  // another one for tests

  ElasticRanks(const Config& config, RankSource source, bool is_launched,
               Clock clock = std::chrono::steady_clock::now);

  bool is_on() const { return policy_.least_ranks > 0; }

  // Before a start: whether there are ranks to run on now, and then it knows on which.
  bool ready();
  // While it runs: whether it shall save and continue on other ranks.
  bool must_move();
  // It fails again and again on these: whether it can try with one less.
  bool do_with_less();

  const ElasticPlan& plan() const { return plan_; }
  bool is_as_given() const { return plan_.text.empty(); }
  int available_at_start() const { return available_at_start_; }  // of the last one
  std::vector<std::string> launcher(const std::filesystem::path& folder) const {
    return source_.launcher(seen_, plan_.ranks, folder);
  }

 private:
  AvailableRanks look();
  // Nothing where no plan fits them.
  std::optional<ElasticPlan> plan_for(int available);
  void adopt(const ElasticPlan& plan, int available);
  double seconds_away(bool away);

  ElasticConfig policy_;
  RankSource source_;
  Clock clock_;
  std::unique_ptr<BestPlans> plans_;  // null: never asked for
  ElasticPlan given_, plan_;
  int most_ranks_, available_at_start_ = 1;
  AvailableRanks seen_;
  std::optional<int> untrusted_from_;  // with this number listed, `trusted_` can be used
  int trusted_ = 0;
  std::optional<Moment> looked_at_;
  std::optional<Moment> changed_at_;  // since when as many as now have been there, but not used
  int changed_to_ = -1;
  bool started_ = false, said_waits_ = false;
  bool runs_ = false;  // since it was last ready
};

}  // namespace tessera
