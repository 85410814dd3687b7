// SPDX-License-Identifier: Apache-2.0
#include "mesh/axes.h"

namespace tessera {

const AxisRow* find_axis(std::string_view name) {
  for (const AxisRow& row : kAxes)
    if (row.name == user_name(name)) return &row;
  return nullptr;
}

std::vector<std::string> axis_names() {
  std::vector<std::string> names;
  for (const AxisRow& row : kAxes) names.emplace_back(row.name);
  return names;
}

}  // namespace tessera
