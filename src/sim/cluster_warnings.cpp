// SPDX-License-Identifier: Apache-2.0
#include "sim/cluster_warnings.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/pool.h"
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

// The levels that the axis's groups span: 1 where they stay within a node, or on a CPU.
size_t levels_of(const Cluster& cluster, const Mesh& mesh, int axis) {
  size_t levels = 1;
  if (mesh.size(axis) > 1 && cluster.device.cores == 0)
    for (const GroupShape& shape : group_shapes(cluster, mesh, {axis}))
      levels = std::max(levels, shape.size());
  return levels;
}

// "ep=16 spans more than the node of 8 ranks: ..." for what crosses the level outside of it.
std::string spans_more(const Cluster& cluster, const Mesh& mesh, int axis, std::string_view what) {
  const Level& inner = cluster.levels.front();
  const Level& outer = cluster.levels[levels_of(cluster, mesh, axis) - 1];
  return fmt::format(
      "{}={} spans more than the {} of {} ranks: {} cross the {} at {:.4g} GB/s per rank instead "
      "of {:.4g}",
      mesh.axes()[static_cast<size_t>(axis)].name, mesh.size(axis), inner.name, inner.ranks, what,
      outer.name, outer.rate() / 1e9, inner.rate() / 1e9);
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
    if (!row.wants_near || axis < 0 || levels_of(cluster, mesh, axis) == 1) continue;
    warnings.push_back(
        fmt::format("{}; keep {} within {} ranks, and last in the mesh",
                    spans_more(cluster, mesh, axis, "its sums, four in every layer,"), row.name,
                    cluster.levels.front().ranks));
  }
  return warnings;
}

std::vector<std::string> experts_across_nodes(const Cluster& cluster, const Plan& plan) {
  std::vector<std::string> warnings;
  for (int axis = 0; axis < plan.mesh.num_axes(); ++axis) {
    const std::vector<std::string>& dims = plan.dims[static_cast<size_t>(axis)];
    const bool splits_experts = std::ranges::find(dims, kExpertDim) != dims.end();
    if (!splits_experts || levels_of(cluster, plan.mesh, axis) == 1) continue;
    warnings.push_back(fmt::format(
        "{}; put {} after the data axes, or keep it within {} ranks",
        spans_more(cluster, plan.mesh, axis, "the rows of tokens, four times in every layer,"),
        plan.mesh.axes()[static_cast<size_t>(axis)].name, cluster.levels.front().ranks));
  }
  return warnings;
}

}  // namespace tessera
