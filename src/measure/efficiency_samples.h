// SPDX-License-Identifier: Apache-2.0
// What kernels took, gathered by op and size into the tables of a cluster file.
#pragma once

#include <map>
#include <vector>

#include "sim/kernel_cost.h"

namespace tessera {

class EfficiencySamples {
 public:
  // `kernels` gives the roofline; a call without work is left out.
  void add(const KernelCost& kernels, const OpCall& call, double seconds);
  // A table for each op: the median at every size. A load of 0 threads and ranks stands for any.
  void add_tables(const RankLoad& load, std::vector<EfficiencyTable>& tables) const;

 private:
  std::map<std::pair<OpKind, std::array<double, 3>>, std::vector<double>> samples_;
};

// For ops that none of the models has.
EfficiencyTable other_table(const std::vector<EfficiencyTable>& tables);

}  // namespace tessera
