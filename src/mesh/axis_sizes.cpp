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
    if (row.splits_data || row.apart) ranks *= (*this)[row.axis];
  return ranks;
}

const AxisRow* AxisSizes::sharding_axis() const {
  for (const AxisRow& row : kAxes)
    if (row.shards_states && (*this)[row.axis] > 1) return &row;
  return nullptr;
}

std::vector<AxisKind> AxisSizes::state_axes() const {
  const AxisRow* sharding = sharding_axis();
  std::vector<AxisKind> axes;
  for (const AxisRow& row : kAxes)
    if (row.splits_data && (*this)[row.axis] > 1 &&
        (!sharding || row.shards_states || row.joins_shards))
      axes.push_back(row.axis);
  return axes;
}

int AxisSizes::state_shards() const {
  int shards = 1;
  for (const AxisKind axis : state_axes()) shards *= (*this)[axis];
  return shards;
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
