// SPDX-License-Identifier: Apache-2.0
#include "sim/island_exchange.h"

#include <algorithm>

#include "core/error.h"

namespace tessera {
namespace {

// To the hub, its word that all have come, the question for the result, and the result.
constexpr double kMessages = 4;

}  // namespace

const Level& level_between(const Cluster& cluster, int islands, int ranks) {
  const int64_t all = static_cast<int64_t>(islands) * ranks;
  for (const Level& level : cluster.levels)
    if (level.ranks >= all) return level;
  throw user_error("{} islands of {} rank{} are {} ranks, but cluster {} has {}", islands, ranks,
                   ranks == 1 ? "" : "s", all, cluster.name, cluster.levels.back().ranks)
      .at("mesh")
      .help("use fewer ranks, or a larger cluster");
}

// Fragments follow each other on the link. One of them is waited for once its delay is over, and
// all of them where they take longer than the steps between two exchanges of the same fragment.
IslandTimes island_times(const Cluster& cluster, const ExchangePlan& exchange,
                         double step_seconds) {
  IslandTimes times;
  if (exchange.islands <= 1) {
    times.step_seconds = step_seconds;
    return times;
  }
  const Level& level = level_between(cluster, exchange.islands, exchange.ranks);
  const auto fragments = static_cast<double>(std::max<int64_t>(1, exchange.fragments)),
             every = static_cast<double>(std::max<int64_t>(1, exchange.every));
  times.bytes = static_cast<double>(exchange.format.bytes(exchange.parameters));
  const double rate = level.rate() * exchange.ranks, others = exchange.islands - 1;
  const double of_fragment =
      2 * others * times.bytes / fragments / rate + kMessages * level.latency_seconds.value;
  times.transfer_seconds = fragments * of_fragment;
  const double hidden = static_cast<double>(exchange.delay) * step_seconds;
  times.exposed_seconds =
      std::max({0.0, fragments * (of_fragment - hidden),
                exchange.delay > 0 ? times.transfer_seconds - every * step_seconds : 0.0});
  times.step_seconds = step_seconds + times.exposed_seconds / every;
  return times;
}

const Level* slow_level(const Cluster& cluster, int ranks) {
  int below = 1;
  for (const Level& level : cluster.levels) {
    if (below >= ranks) return nullptr;
    if (level.rate() < kSlowBytesPerSecond && cluster.device.cores == 0) return &level;
    below = level.ranks;
  }
  return nullptr;
}

}  // namespace tessera
