// SPDX-License-Identifier: Apache-2.0
#include "mesh/machine_borders.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "mesh/axes.h"

namespace tessera {
namespace {

// Empty: every group of the axis stays on one machine.
std::string leaves_machine(const AxisRow& row, const Mesh& mesh, std::span<const int> machines) {
  AxisIds parts;
  for (int axis = 0; axis < mesh.num_axes(); ++axis)
    if (find_axis(mesh.axes()[static_cast<size_t>(axis)].name) == &row) parts.push_back(axis);
  const auto machine_of = [&](int rank) { return machines[static_cast<size_t>(rank)]; };
  for (int rank = 0; !machines.empty() && rank < mesh.num_ranks(); ++rank)
    for (const int peer : mesh.group(rank, parts)) {
      if (machine_of(peer) == machine_of(rank)) continue;
      std::map<int, int> ranks_on;
      for (const int machine : machines) ++ranks_on[machine];
      const auto fewest =
          std::min_element(ranks_on.begin(), ranks_on.end(),
                           [](const auto& a, const auto& b) { return a.second < b.second; });
      return fmt::format(
          "a group of {0} = {1} leaves its machine (ranks {2} and {3}): its sums cross the network "
          "in every layer; machines have {4} ranks or more: make {0} the last axis of the mesh, "
          "and a divisor of that",
          row.name, mesh.size(parts), rank, peer, fewest->second);
    }
  return "";
}

}  // namespace

std::string warn_of_machine_borders(const Mesh& mesh, std::span<const int> machines) {
  for (const AxisRow& row : kAxes)
    if (row.wants_near)
      if (std::string warning = leaves_machine(row, mesh, machines); !warning.empty())
        return warning;
  return "";
}

}  // namespace tessera
