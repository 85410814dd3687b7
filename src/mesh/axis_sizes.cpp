// SPDX-License-Identifier: Apache-2.0
#include "mesh/axis_sizes.h"

namespace tessera {

int AxisSizes::ranks() const {
  int ranks = 1;
  for (const int size : sizes_) ranks *= size;
  return ranks;
}

int AxisSizes::data_ranks() const {
  int ranks = 1;
  for (const AxisRow& row : kAxes)
    if (row.splits_data) ranks *= (*this)[row.axis];
  return ranks;
}

const AxisRow* AxisSizes::state_axis() const {
  const AxisRow* found = nullptr;
  for (const AxisRow& row : kAxes)
    if (row.splits_data && (*this)[row.axis] > 1 && (!found || row.shards_states)) found = &row;
  return found;
}

std::vector<Axis> AxisSizes::all() const {
  std::vector<Axis> axes;
  for (const AxisRow& row : kAxes) axes.push_back({std::string(row.name), (*this)[row.axis]});
  return axes;
}

std::vector<Axis> AxisSizes::above_one() const {
  std::vector<Axis> axes = all();
  std::erase_if(axes, [](const Axis& axis) { return axis.size == 1; });
  return axes;
}

AxisSizes sizes_of(std::span<const Axis> mesh) {
  AxisSizes sizes;
  for (const Axis& axis : mesh)
    if (const AxisRow* row = find_axis(axis.name)) sizes[row->axis] *= axis.size;
  return sizes;
}

}  // namespace tessera
