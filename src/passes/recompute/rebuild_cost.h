// SPDX-License-Identifier: Apache-2.0
// What it would cost to recompute a value that is kept for the backward, from others that are.
#pragma once

#include <set>

#include "core/device_kind.h"
#include "ir/graph.h"

namespace tessera {

struct RebuildCost {
  // A matmul, attention or a collective must run again, or what is kept is smaller than what it is
  // made of.
  bool expensive = false;
  double per_byte = 0;  // in flops, bytes weighed

  bool operator<(const RebuildCost& other) const {
    return expensive != other.expensive ? other.expensive : per_byte < other.per_byte;
  }
};

RebuildCost rebuild_cost(const Graph& graph, const std::set<ValueId>& kept, ValueId value,
                         const DeviceProfile& profile);

}  // namespace tessera
