// SPDX-License-Identifier: Apache-2.0
// The steps from one placement to another, each one collective or a slice.
#pragma once

#include <optional>
#include <vector>

#include "mesh/placement.h"

namespace tessera {

struct ReshardStep {
  enum class Kind : uint8_t { Slice, ReduceScatter, AllToAll, AllReduce, AllGather };
  Kind kind;
  AxisIds axes;           // one, except for AllReduce
  std::string dim = {};   // that is split afterwards, or gathered
  std::string from = {};  // AllToAll: the dim that was split
  bool operator==(const ReshardStep&) const = default;
};

// Nothing if there is no way without gathering more than the target needs.
std::optional<std::vector<ReshardStep>> reshard_steps(Placement from, const Placement& to);

// Equal, except that the order of axes that are alone on their dim does not matter.
bool same_place(const Placement& a, const Placement& b);

}  // namespace tessera
