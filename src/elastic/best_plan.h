// SPDX-License-Identifier: Apache-2.0
// The plan that a run continues with on the ranks that are left: the fastest that the planner finds
// within about a second, over every axis, zero, microbatches, schedule and recomputation. The
// batch, the data and the numbers' formats are the run's own.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/config.h"
#include "mesh/mesh.h"
#include "sim/cluster.h"

namespace tessera {

struct ElasticPlan {
  int ranks = 1;
  std::string mesh = {};                                           // "dp=2,tp=2"; "1": one rank
  std::vector<std::pair<std::string, std::string>> settings = {};  // keys of [plan] and [train]
  std::string text = {};    // all knobs, for people; empty: as given in the config
  double step_seconds = 0;  // simulated; 0: as given in the config, and not simulated
};

class BestPlans {
 public:
  // A UserError where the cluster cannot be read, or the planner cannot plan such a run.
  BestPlans(const Config& config, bool is_launched);

  // On at most `available` ranks and at least `least`; nothing where none fits.
  const std::optional<ElasticPlan>& on(int available, int least);

 private:
  std::optional<ElasticPlan> search_on(int available, int least) const;

  Config config_;
  Cluster cluster_;
  bool counts_by_microbatch_ = false;  // the loss depends on how a batch is split
  std::map<std::pair<int, int>, std::optional<ElasticPlan>> known_;
};

}  // namespace tessera
