// SPDX-License-Identifier: Apache-2.0
// Alpha-beta costs, after Thakur, Rabenseifner and Gropp (2005). A group with c members in a unit
// uses the links of all c to leave it.
#include "sim/collective_cost.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ir/op_list.h"

namespace tessera {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

// How much longer bytes take on a level than at its bandwidth.
double ramp(const Level& level, double bytes) {
  return bytes > 0 ? 1 + std::sqrt(level.ramp_bytes.value / bytes) : 1;
}

// The time of one pass of a reduce_scatter or an all_gather.
double ring_pass(const Cluster& cluster, const GroupShape& shape, double bytes) {
  double slowest = 0, latency = 0;  // seconds of a byte
  for (size_t l = 0; l < shape.size(); ++l) {
    if (shape.units(l) == 1) continue;
    const double links = shape.inside(l) * shape.links(cluster.levels[l], l);
    slowest =
        std::max(slowest, ramp(cluster.levels[l], bytes) / (cluster.levels[l].rate() * links));
    latency = std::max(latency, cluster.levels[l].latency_seconds.value);
  }
  const double n = shape.back();
  return (n - 1) * (latency + bytes / n * slowest);
}

double hierarchical_pass(const Cluster& cluster, const GroupShape& shape, double bytes) {
  const double all = bytes;  // fabrics are measured by the bytes of the whole collective
  double seconds = 0;
  for (size_t l = 0; l < shape.size(); ++l) {
    const Level& level = cluster.levels[l];
    const double units = shape.units(l);
    const double rate = level.rate() * shape.links(level, l) / ramp(level, all);
    seconds +=
        shape.hops(level, l) * level.latency_seconds.value + bytes * (units - 1) / units / rate;
    bytes /= units;
  }
  return seconds;
}

double tree_all_reduce(const Cluster& cluster, const GroupShape& shape, double bytes) {
  double slowest = 0, latency = 0;
  for (size_t l = 0; l < shape.size(); ++l) {
    if (shape.units(l) == 1) continue;
    slowest = std::max(
        slowest, ramp(cluster.levels[l], bytes) / (cluster.levels[l].rate() * shape.inside(l)));
    latency += std::ceil(std::log2(shape.units(l))) * cluster.levels[l].latency_seconds.value;
  }
  return 2 * (latency + bytes * slowest);
}

double all_to_all_seconds(const Cluster& cluster, const GroupShape& shape, double bytes) {
  double longest = 0;
  const double n = shape.back();
  for (size_t l = 0; l < shape.size(); ++l) {
    const double crossing = bytes * shape[l] / n * shape.crossing(cluster.levels[l], l);
    longest = std::max(longest, crossing / cluster.levels[l].rate());
  }
  return cluster.levels[shape.size() - 1].latency_seconds.value + longest;
}

double shift_seconds(const Cluster& cluster, const GroupShape& shape, double bytes) {
  const Level& outermost = cluster.levels[shape.size() - 1];
  const double links = shape.spacing(shape.size() - 1);
  return links * (outermost.latency_seconds.value + bytes / outermost.rate());
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

double send_seconds(const Cluster& cluster, const GroupShape& shape, double bytes) {
  const Level& level = cluster.levels[shape.size() - 1];
  const double seconds = collective_seconds(cluster, CollectiveOp::Shift, shape, bytes);
  return seconds +
         shape.spacing(shape.size() - 1) * bytes * (1 / level.send_rate() - 1 / level.rate());
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
    const double inside = shape.inside(l);
    // In a node, what came from other nodes is passed on, too.
    const double reach = l == 0 ? shape[0] : n;
    const double copies = expected_units(traffic, n / inside) * (shape[l] - inside) / reach;
    longest = std::max(longest, token * copies / cluster.levels[l].rate());
  }
  return cluster.levels[shape.size() - 1].latency_seconds.value + longest;
}

}  // namespace tessera
