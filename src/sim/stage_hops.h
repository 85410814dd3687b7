// SPDX-License-Identifier: Apache-2.0
// How long what one stage sends to another takes, by the level that the two stages' ranks are
// apart.
#pragma once

#include <vector>

#include "program/program.h"
#include "sim/cluster.h"
#include "sim/collective_cost.h"

namespace tessera {

class StageHops {
 public:
  // `split_sends`: ranks along tp that hold the same stream send a part each, and gather it there.
  StageHops(const Program& program, const Cluster& cluster, bool split_sends);

  double seconds(int channel, double bytes) const;
  size_t level(int channel) const { return hop(channel).size() - 1; }

 private:
  // The widest of those between the two stages' ranks: the slowest counts.
  const GroupShape& hop(int channel) const { return hops_[static_cast<size_t>(channel)]; }

  const Cluster& cluster_;
  std::vector<GroupShape> hops_;  // by channel
  std::vector<GroupShape> gathers_;
};

}  // namespace tessera
