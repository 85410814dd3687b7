// SPDX-License-Identifier: Apache-2.0
// Alpha-beta costs, after Thakur, Rabenseifner and Gropp (2005). A group with c members in a unit
// uses the links of all c to leave it.
#include "sim/collective_cost.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "core/error.h"
#include "ir/op_list.h"

namespace tessera {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

int members_inside(const GroupShape& shape, size_t level) {
  return level == 0 ? 1 : shape[level - 1];
}

// Groups of units of the level below, in one unit of `level`.
int fan_out(const GroupShape& shape, size_t level) {
  const int inside = members_inside(shape, level);
  return (shape[level] + inside - 1) / inside;
}

// The time of one pass of a reduce_scatter or an all_gather.
double ring_pass(const Cluster& cluster, const GroupShape& shape, double bytes) {
  double rate = kNever, latency = 0;
  for (size_t l = 0; l < shape.size(); ++l) {
    if (fan_out(shape, l) == 1) continue;
    rate = std::min(rate, cluster.levels[l].rate() * members_inside(shape, l));
    latency = std::max(latency, cluster.levels[l].latency_seconds.value);
  }
  const double n = shape.back();
  return (n - 1) * (latency + bytes / n / rate);
}

double hierarchical_pass(const Cluster& cluster, const GroupShape& shape, double bytes) {
  double seconds = 0;
  for (size_t l = 0; l < shape.size(); ++l) {
    const double units = fan_out(shape, l);
    seconds += (units - 1) *
               (cluster.levels[l].latency_seconds.value + bytes / units / cluster.levels[l].rate());
    bytes /= units;
  }
  return seconds;
}

double tree_all_reduce(const Cluster& cluster, const GroupShape& shape, double bytes) {
  double rate = kNever, latency = 0;
  for (size_t l = 0; l < shape.size(); ++l) {
    if (fan_out(shape, l) == 1) continue;
    rate = std::min(rate, cluster.levels[l].rate() * members_inside(shape, l));
    latency += std::ceil(std::log2(fan_out(shape, l))) * cluster.levels[l].latency_seconds.value;
  }
  return 2 * (latency + bytes / rate);
}

double all_to_all_seconds(const Cluster& cluster, const GroupShape& shape, double bytes) {
  double longest = 0;
  const double n = shape.back();
  for (size_t l = 0; l < shape.size(); ++l) {
    const double crossing = bytes * (shape[l] - members_inside(shape, l)) / n;
    longest = std::max(longest, crossing / cluster.levels[l].rate());
  }
  return cluster.levels[shape.size() - 1].latency_seconds.value + longest;
}

double shift_seconds(const Cluster& cluster, const GroupShape& shape, double bytes) {
  const Level& outermost = cluster.levels[shape.size() - 1];
  return outermost.latency_seconds.value + bytes / outermost.rate();
}

double read_table(const CollectiveTable& table, double bytes) {
  const auto& points = table.points;
  if (bytes <= points.front().first) return points.front().second;
  if (bytes >= points.back().first) return points.back().second * bytes / points.back().first;
  size_t upper = 1;
  while (points[upper].first < bytes) ++upper;
  const auto [low, low_seconds] = points[upper - 1];
  const auto [high, high_seconds] = points[upper];
  return low_seconds + (high_seconds - low_seconds) * (bytes - low) / (high - low);
}

const CollectiveTable* nearest_table(const Cluster& cluster, CollectiveOp op,
                                     const GroupShape& shape) {
  const CollectiveTable* best = nullptr;
  const int ranks = shape.back();
  const std::string& level = cluster.levels[shape.size() - 1].name;
  for (const CollectiveTable& table : cluster.collectives)
    if (table.op == op && (table.level.empty() || table.level == level) &&
        (best == nullptr || std::abs(table.ranks - ranks) < std::abs(best->ranks - ranks)))
      best = &table;
  return best;
}

// Where all ranks share one memory, the time is proportional to their number. Where each has its
// own links, it is to the share of its buffer that leaves the rank.
double table_scale(const Cluster& cluster, CollectiveOp op, int ranks, int measured_ranks) {
  const double own = ranks, measured = std::max(2, measured_ranks);
  if (cluster.device.cores > 0) return own / measured;
  if (op == CollectiveOp::Shift) return 1;
  return (own - 1) / own / ((measured - 1) / measured);
}

}  // namespace

GroupShape group_shape(const Cluster& cluster, std::span<const int> ranks) {
  GroupShape shape;
  for (const Level& level : cluster.levels) {
    int most = 0, members = 0, unit = -1;  // ranks ascend: those of a unit are consecutive
    for (const int rank : ranks) {
      members = rank / level.ranks == unit ? members + 1 : 1;
      unit = rank / level.ranks;
      most = std::max(most, members);
    }
    shape.push_back(most);
    if (most == static_cast<int>(ranks.size())) break;
  }
  TESSERA_CHECK(shape.back() == static_cast<int>(ranks.size()), "a group larger than the cluster");
  return shape;
}

std::vector<GroupShape> group_shapes(const Cluster& cluster, const Mesh& mesh,
                                     const AxisIds& axes) {
  std::set<GroupShape> shapes;
  for (int rank = 0; rank < mesh.num_ranks(); ++rank)
    if (mesh.index(rank, axes) == 0) shapes.insert(group_shape(cluster, mesh.group(rank, axes)));
  return {shapes.begin(), shapes.end()};
}

double collective_seconds(const Cluster& cluster, CollectiveAlgorithm algorithm, CollectiveOp op,
                          const GroupShape& shape, double bytes) {
  if (op == CollectiveOp::AllToAll || moves_rows(op))
    return all_to_all_seconds(cluster, shape, bytes);
  if (op == CollectiveOp::Shift) return shift_seconds(cluster, shape, bytes);
  const double passes = op == CollectiveOp::AllReduce ? 2 : 1;
  switch (algorithm) {
    case CollectiveAlgorithm::Ring:
      return passes * ring_pass(cluster, shape, bytes);
    case CollectiveAlgorithm::Hierarchical:
      return passes * hierarchical_pass(cluster, shape, bytes);
    case CollectiveAlgorithm::Tree:
      return op == CollectiveOp::AllReduce ? tree_all_reduce(cluster, shape, bytes) : kNever;
    case CollectiveAlgorithm::Fastest:
      break;
  }
  double least = kNever;
  for (const CollectiveAlgorithm each :
       {CollectiveAlgorithm::Ring, CollectiveAlgorithm::Tree, CollectiveAlgorithm::Hierarchical})
    least = std::min(least, collective_seconds(cluster, each, op, shape, bytes));
  return least;
}

double collective_seconds(const Cluster& cluster, CollectiveOp op, const GroupShape& shape,
                          double bytes) {
  const int ranks = shape.back();
  if (ranks <= 1) return 0;
  // Rows of experts, spread evenly, are an exchange of parts.
  if (moves_rows(op) && !nearest_table(cluster, op, shape)) op = CollectiveOp::AllToAll;
  if (const CollectiveTable* table = nearest_table(cluster, op, shape))
    return read_table(*table, bytes) * table_scale(cluster, op, ranks, table->ranks);
  const double seconds = collective_seconds(cluster, cluster.algorithm, op, shape, bytes);
  if (seconds < kNever) return seconds;
  return collective_seconds(cluster, CollectiveAlgorithm::Ring, op, shape, bytes);
}

// One minus the share of choices that leave a unit out: k of E experts, none of them among E / u.
double expected_units(const RowTraffic& traffic, double units) {
  const auto experts = static_cast<double>(traffic.experts);
  double none = 1;
  for (int64_t i = 0; i < traffic.top_k; ++i)
    none *= std::max(0.0, experts - experts / units - static_cast<double>(i)) /
            (experts - static_cast<double>(i));
  return units * (1 - none);
}

double row_seconds(const Cluster& cluster, CollectiveOp op, const GroupShape& shape, double bytes,
                   const RowTraffic& traffic) {
  if (traffic.copies == RowCopies::PerExpert || shape.back() <= 1)
    return collective_seconds(cluster, op, shape, bytes);
  const double n = shape.back(), token = bytes / static_cast<double>(traffic.top_k);
  double longest = 0;
  for (size_t l = 0; l < shape.size(); ++l) {
    const double inside = members_inside(shape, l);
    // In a node, what came from other nodes is passed on, too.
    const double reach = l == 0 ? shape[0] : n;
    const double copies = expected_units(traffic, n / inside) * (shape[l] - inside) / reach;
    longest = std::max(longest, token * copies / cluster.levels[l].rate());
  }
  return cluster.levels[shape.size() - 1].latency_seconds.value + longest;
}

}  // namespace tessera
