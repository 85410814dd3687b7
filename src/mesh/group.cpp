// SPDX-License-Identifier: Apache-2.0
#include "mesh/group.h"

#include <charconv>

#include "core/error.h"

namespace tessera {

Group make_group(const Mesh& mesh, AxisIds axes, std::vector<int> coordinates) {
  Group group{.name = mesh.word(axes)};
  group.axes = std::move(axes);
  group.size = coordinates.empty() ? mesh.size(group.axes) : static_cast<int>(coordinates.size());
  for (const int coordinate : coordinates) {
    TESSERA_CHECK(coordinate >= 0 && coordinate < mesh.size(group.axes), "place {} along {}",
                  coordinate, mesh.word(group.axes));
    group.name += fmt::format("-{}", coordinate);
  }
  group.coordinates = std::move(coordinates);
  return group;
}

Group parse_group(const Mesh& mesh, std::string_view text) {
  const size_t axes_end = std::min(text.find('-'), text.size());
  std::vector<int> coordinates;
  for (const char *at = text.data() + axes_end, *end = text.data() + text.size(); at < end;) {
    int coordinate = -1;
    const auto [next, error] = std::from_chars(at + 1, end, coordinate);
    TESSERA_CHECK(*at == '-' && error == std::errc{}, "group {}", text);
    coordinates.push_back(coordinate);
    at = next;
  }
  return make_group(mesh, mesh.parse_word(text.substr(0, axes_end)), std::move(coordinates));
}

std::vector<int> members_of(const Group& group, const Mesh& mesh, int rank) {
  std::vector<int> all = mesh.group(rank, group.axes);
  if (group.coordinates.empty()) return all;
  std::vector<int> some;
  for (const int coordinate : group.coordinates)
    some.push_back(all.at(static_cast<size_t>(coordinate)));
  return some;
}

}  // namespace tessera
