// SPDX-License-Identifier: Apache-2.0
#include "mesh/fewer_ranks.h"

#include "mesh/axes.h"

namespace tessera {
namespace {

int largest_proper_divisor(int size) {
  for (int divisor = size / 2; divisor > 1; --divisor)
    if (size % divisor == 0) return divisor;
  return 1;
}

}  // namespace

std::optional<Mesh> fewer_ranks(const Mesh& mesh) {
  for (const bool splits_dims : {true, false})
    for (const AxisRow& row : kAxes) {
      const int axis = mesh.find(row.name);
      if (row.dims().empty() == splits_dims || axis < 0 || mesh.size(axis) == 1) continue;
      std::vector<Axis> axes = mesh.axes();
      int& size = axes[static_cast<size_t>(axis)].size;
      size = largest_proper_divisor(size);
      return Mesh(std::move(axes));
    }
  return std::nullopt;
}

}  // namespace tessera
