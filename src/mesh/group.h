// SPDX-License-Identifier: Apache-2.0
// A group of ranks that communicate: those that differ along some mesh axes alone, or a few of
// these. The IR names a group by text, "dp+cp" or "pp-0-3"; everything after it reads these fields.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "mesh/mesh.h"

namespace tessera {

struct Group {
  std::string name = {};  // its text, for messages and traces
  AxisIds axes = {};
  std::vector<int> coordinates = {};  // of the members along the axes; empty: all of them
  int size = 1;                       // members

  bool spans(int axis) const { return std::ranges::find(axes, axis) != axes.end(); }
  bool operator==(const Group&) const = default;
};

Group make_group(const Mesh& mesh, AxisIds axes, std::vector<int> coordinates = {});
Group parse_group(const Mesh& mesh, std::string_view text);

// The members of the rank's own group, in their order.
std::vector<int> members_of(const Group& group, const Mesh& mesh, int rank);

}  // namespace tessera
