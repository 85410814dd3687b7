// SPDX-License-Identifier: Apache-2.0
#include "mesh/machine_borders.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace tessera {

std::string tp_leaves_machine(const Mesh& mesh, std::span<const int> machines) {
  AxisIds tp;
  for (int axis = 0; axis < mesh.num_axes(); ++axis) {
    const std::string& name = mesh.axes()[static_cast<size_t>(axis)].name;
    if (name == "tp" || name.starts_with("tp.")) tp.push_back(axis);
  }
  const auto machine_of = [&](int rank) { return machines[static_cast<size_t>(rank)]; };
  for (int rank = 0; !machines.empty() && rank < mesh.num_ranks(); ++rank)
    for (const int peer : mesh.group(rank, tp)) {
      if (machine_of(peer) == machine_of(rank)) continue;
      std::map<int, int> ranks_on;
      for (const int machine : machines) ++ranks_on[machine];
      const auto fewest =
          std::min_element(ranks_on.begin(), ranks_on.end(),
                           [](const auto& a, const auto& b) { return a.second < b.second; });
      return fmt::format(
          "a group of tp = {} leaves its machine (ranks {} and {}): its sums cross the network in "
          "every layer; machines have {} ranks or more: make tp the last axis of the mesh, and a "
          "divisor of that",
          mesh.size(tp), rank, peer, fewest->second);
    }
  return "";
}

}  // namespace tessera
