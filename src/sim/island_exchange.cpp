// SPDX-License-Identifier: Apache-2.0
#include "sim/island_exchange.h"

#include <algorithm>

#include "core/error.h"

namespace tessera {
namespace {

// To the hub, its word that all have come, the question for the result, and the result.
constexpr double kMessages = 4;

// A fragment that is under way alone is waited for once its delay is over. Where the next ones
// leave meanwhile, the link works in both directions at once: it carries a fragment in the time of
// one direction, and as many as are under way in the time of one of them.
double exposed_of_fragment(double one_way, double there_and_back, double steps_between,
                           double delay, double step_seconds) {
  if (delay < steps_between) return std::max(0.0, there_and_back - delay * step_seconds);
  const double under_way = delay / steps_between;
  return std::max(0.0,
                  std::max(one_way, there_and_back / under_way) - steps_between * step_seconds);
}

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
  const double one_way = others * times.bytes / fragments / rate,
               there_and_back = 2 * one_way + kMessages * level.latency_seconds.value;
  times.transfer_seconds = fragments * there_and_back;
  times.exposed_seconds =
      fragments * exposed_of_fragment(one_way, there_and_back, every / fragments,
                                      static_cast<double>(exchange.delay), step_seconds);
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
