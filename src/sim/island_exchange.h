// SPDX-License-Identifier: Apache-2.0
// What islands cost on a cluster: the seconds that their exchanges take on the level between them,
// and how many of those nobody hides. As the hub works: it is beside one island, and the changes of
// all others cross that island's link, in and out.
#pragma once

#include <optional>
#include <string>

#include "islands/wire_format.h"
#include "sim/cluster.h"

namespace tessera {

struct ExchangePlan {
  int islands = 2;
  int ranks = 1;  // of one island
  int64_t parameters = 0;
  WireFormat format = {};
  int64_t every = 100;    // steps
  int64_t fragments = 1;  // each is exchanged once in `every` steps
  int64_t delay = 0;      // steps between sending and applying
};

struct IslandTimes {
  double bytes = 0;             // that one island sends in `every` steps, and as many come back
  double transfer_seconds = 0;  // of all exchanges in `every` steps, on the hub's link
  double exposed_seconds = 0;   // of them, what training waits for
  double step_seconds = 0;      // with a step's share of what is exposed
};

// The level that islands of that many ranks meet on. A UserError where the cluster is too small.
const Level& level_between(const Cluster& cluster, int islands, int ranks);

IslandTimes island_times(const Cluster& cluster, const ExchangePlan& exchange, double step_seconds);

// The innermost level that this many ranks span and that is slow: it gives a rank less than
// kSlowBytesPerSecond, as links between sites do and those within a machine room do not. Null:
// none.
inline constexpr double kSlowBytesPerSecond = 1e9;
const Level* slow_level(const Cluster& cluster, int ranks);

}  // namespace tessera
