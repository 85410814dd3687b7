// SPDX-License-Identifier: Apache-2.0
#include "measure/efficiency_samples.h"

#include "core/statistics.h"
#include "measure/step_floor.h"

namespace tessera {

void EfficiencySamples::add(const KernelCost& kernels, const OpCall& call, double seconds) {
  const double roofline = kernels.roofline_seconds(call);
  if (roofline > 0) samples_[{call.op, kernel_size(call)}].push_back(roofline / seconds);
}

void EfficiencySamples::add_tables(const RankLoad& load,
                                   std::vector<EfficiencyTable>& tables) const {
  for (const auto& [key, efficiencies] : samples_) {
    const OpKind op = key.first;
    if (tables.empty() || tables.back().op != op || tables.back().threads != load.threads ||
        tables.back().busy_ranks != load.ranks)
      tables.push_back({.op = op,
                        .threads = load.threads,
                        .busy_ranks = load.ranks,
                        .source = "measured",
                        .points = {}});
    tables.back().points.push_back({key.second, median(efficiencies)});
  }
}

EfficiencyTable other_table(const std::vector<EfficiencyTable>& tables) {
  std::vector<double> all;
  for (const EfficiencyTable& table : tables)
    for (const EfficiencyPoint& point : table.points) all.push_back(point.efficiency);
  return {.op = {},
          .threads = 0,
          .busy_ranks = 0,
          .source = "median of all measured",
          .points = {{{1, 1, 0}, median(all)}}};
}

}  // namespace tessera
