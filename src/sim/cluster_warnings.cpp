// SPDX-License-Identifier: Apache-2.0
#include "sim/cluster_warnings.h"

#include <fmt/format.h>

#include <algorithm>

#include "mesh/axes.h"
#include "sim/collective_cost.h"

namespace tessera {
namespace {

// The smallest plausible figures, far below those of any machine.
constexpr double kLeastLink = 1e6, kLeastMemoryRate = 1e8, kLeastMemory = 1e6, kLeastPeak = 1e8;
constexpr double kLongestLatency = 1;

void check_least(std::vector<std::string>& warnings, const std::string& key, const Figure& figure,
                 double least, std::string_view unit, std::string_view thing) {
  if (figure.value < least)
    warnings.push_back(
        fmt::format("{} is {:g} {}, less than that of any {}: if it is in billions, write {:g}e9",
                    key, figure.value, unit, thing, figure.value));
}

}  // namespace

std::vector<std::string> unlikely_figures(const Cluster& cluster) {
  std::vector<std::string> warnings;
  const ClusterDevice& device = cluster.device;
  check_least(warnings, "device.memory_bytes", device.memory_bytes, kLeastMemory, "bytes",
              "device");
  check_least(warnings, "device.memory_bandwidth", device.memory_bandwidth, kLeastMemoryRate,
              "bytes per second", "memory");
  for (const auto& [arithmetic, peak] : device.peak_flops)
    check_least(warnings, fmt::format("device.peak_flops.{}", name(arithmetic)), peak, kLeastPeak,
                "flops per second", "device");
  for (const Level& level : cluster.levels) {
    check_least(warnings, fmt::format("bandwidth of level {}", level.name), level.bandwidth,
                kLeastLink, "bytes per second", "link");
    if (level.latency_seconds.value > kLongestLatency)
      warnings.push_back(
          fmt::format("latency_seconds of level {} is {:g}, more than that of any link: if it is "
                      "in microseconds, write {:g}e-6",
                      level.name, level.latency_seconds.value, level.latency_seconds.value));
  }
  return warnings;
}

std::vector<std::string> near_axes_across_nodes(const Cluster& cluster, const Mesh& mesh) {
  std::vector<std::string> warnings;
  for (const AxisRow& row : kAxes) {
    const int axis = mesh.find(row.name);
    if (!row.wants_near || axis < 0 || mesh.size(axis) == 1 || cluster.device.cores > 0) continue;
    size_t levels = 1;
    for (const GroupShape& shape : group_shapes(cluster, mesh, {axis}))
      levels = std::max(levels, shape.size());
    if (levels == 1) continue;
    const Level &inner = cluster.levels.front(), &outer = cluster.levels[levels - 1];
    warnings.push_back(fmt::format(
        "{0}={1} spans more than the {2} of {3} ranks: its sums, four in every layer, cross the "
        "{4} at "
        "{5:.4g} GB/s per rank instead of {6:.4g}; keep {0} within {3} ranks, and last in the mesh",
        row.name, mesh.size(axis), inner.name, inner.ranks, outer.name, outer.rate() / 1e9,
        inner.rate() / 1e9));
  }
  return warnings;
}

}  // namespace tessera
