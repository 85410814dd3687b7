// SPDX-License-Identifier: Apache-2.0
// How a pool of experts goes from the ranks that sorted its rows to those that have its experts,
// and back. Along such an axis the one side splits slots, the other experts; `ends` is each rank's
// own part on the one, and that of its experts on the other.
#pragma once

#include <optional>

#include "ir/graph.h"
#include "mesh/mesh.h"
#include "mesh/placement.h"

namespace tessera {

struct PoolExchange {
  enum class Kind : uint8_t { Put, Take, Ends } kind;
  AxisIds axes;  // in the order of the mesh
};

// What brings a value from its placement to `to`, where that is an exchange and nothing else.
std::optional<PoolExchange> pool_exchange(const Graph& graph, ValueId value, const Placement& to);

// The ends that order_routes gave with the pool that the value belongs to.
ValueId ends_of_pool(const Graph& graph, ValueId value);

}  // namespace tessera
