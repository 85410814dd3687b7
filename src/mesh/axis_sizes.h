// SPDX-License-Identifier: Apache-2.0
// The ranks along each axis of the table, 1 where nothing is said.
#pragma once

#include <array>
#include <initializer_list>
#include <span>
#include <utility>
#include <vector>

#include "mesh/axes.h"
#include "mesh/mesh.h"

namespace tessera {

class AxisSizes {
 public:
  AxisSizes() { sizes_.fill(1); }
  AxisSizes(std::initializer_list<std::pair<AxisKind, int>> sizes) : AxisSizes() {
    for (const auto& [axis, size] : sizes) (*this)[axis] = size;
  }

  int operator[](AxisKind axis) const { return sizes_[static_cast<size_t>(axis)]; }
  int& operator[](AxisKind axis) { return sizes_[static_cast<size_t>(axis)]; }
  int ranks() const;
  int data_ranks() const;  // of the axes that split data
  // What states can be sharded over, of those with several ranks: an axis that shards them anyway,
  // else one that splits data, and those that join it.
  std::vector<AxisKind> state_axes() const;
  int state_shards() const;  // the product of these
  // The axis of several ranks that shards states anyway; null: there is none.
  const AxisRow* sharding_axis() const;
  // In the order of the table: all of them, or those above 1.
  std::vector<Axis> all() const;
  std::vector<Axis> above_one() const;

  auto operator<=>(const AxisSizes&) const = default;

 private:
  std::array<int, kNumAxes> sizes_;
};

// What a mesh has along each axis, the parts of one multiplied.
AxisSizes sizes_of(std::span<const Axis> mesh);

}  // namespace tessera
