// SPDX-License-Identifier: Apache-2.0
// Where a tensor lives: for each axis of the mesh it is whole on every rank, split along a dim, or
// a sum that is still to be taken.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/tensor_type.h"
#include "mesh/mesh.h"

namespace tessera {

struct AxisPlacement {
  enum class Kind : uint8_t { Replicate, Shard, Partial };
  Kind kind = Kind::Replicate;
  std::string dim;     // of a Shard
  bool minor = false;  // of a Shard: splits inside what other axes leave of the dim

  bool is_shard(std::string_view wanted) const { return kind == Kind::Shard && dim == wanted; }
  bool operator==(const AxisPlacement&) const = default;
};
inline AxisPlacement replicate() { return {}; }
inline AxisPlacement partial() { return {AxisPlacement::Kind::Partial, {}, false}; }
inline AxisPlacement shard(std::string dim, bool minor = false) {
  return {AxisPlacement::Kind::Shard, std::move(dim), minor};
}

// By axis of the mesh; empty: replicated everywhere.
using Placement = std::vector<AxisPlacement>;

AxisIds partial_axes(const Placement& placement);
// The axes that split a dim, major to minor: in mesh order, those marked minor last.
AxisIds shard_axes(const Placement& placement, std::string_view dim);
// Axes that hold copies: neither split nor pending.
AxisIds replicated_axes(const Placement& placement);

// The dims that one rank holds. A size that does not divide is rounded up.
Dims local_dims(const Mesh& mesh, const Dims& dims, const Placement& placement);

// "dp=batch tp=+"; "" where replicated everywhere.
std::string to_string(const Mesh& mesh, const Placement& placement);

// Calls run(local, global, count) for every stretch of elements that lies in one piece both in the
// rank's local tensor and in the whole one. Elements beyond the whole tensor's sizes (padding) are
// left out.
void for_each_run(const Mesh& mesh, int rank, const Dims& dims, const Placement& placement,
                  const std::function<void(int64_t local, int64_t global, int64_t count)>& run);

}  // namespace tessera
