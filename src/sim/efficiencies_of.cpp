// SPDX-License-Identifier: Apache-2.0
#include "sim/efficiencies_of.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "ir/op_list.h"

namespace tessera {
namespace {

// Ops that are bound by flops: how near a device comes to its peak differs more than how near it
// comes to its memory's bandwidth.
bool is_product(const EfficiencyTable& table) {
  constexpr std::array kProducts{OpKind::matmul,
                                 OpKind::matmul_epilogue,
                                 OpKind::matmul_fp8,
                                 OpKind::expert_matmul,
                                 OpKind::expert_matmul_dw,
                                 OpKind::expert_matmul_fp8,
                                 OpKind::expert_matmul_dw_fp8,
                                 OpKind::attention,
                                 OpKind::attention_grad,
                                 OpKind::output_loss_grad,
                                 OpKind::output_stats,
                                 OpKind::sharded_loss_grad};
  return table.op && std::ranges::find(kProducts, *table.op) != kProducts.end();
}

}  // namespace

void add_efficiencies_of(Cluster& cluster, const std::string& name, const Figure& products) {
  const std::vector<EfficiencyTable> own = cluster.efficiencies;
  for (EfficiencyTable table : load_cluster(name).efficiencies) {
    if (std::ranges::any_of(own, [&](const EfficiencyTable& each) {
          return each.op == table.op && each.kernel == table.kernel;
        }))
      continue;
    // Of the same device, or else taken for want of better.
    table.source =
        fmt::format("{} {}: {}", products.source == "none" ? "of" : "assumed to be those of", name,
                    table.source);
    if (is_product(table) && products.value != 1) {
      table.source += fmt::format("; times {:g}: {}", products.value, products.source);
      for (EfficiencyPoint& point : table.points) point.efficiency *= products.value;
      if (table.curve) table.curve->ceiling *= products.value;
    }
    cluster.efficiencies.push_back(std::move(table));
  }
}

}  // namespace tessera
