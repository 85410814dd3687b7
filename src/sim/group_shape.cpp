// SPDX-License-Identifier: Apache-2.0
#include "sim/group_shape.h"

#include <algorithm>
#include <set>

#include "core/error.h"

namespace tessera {
namespace {

// The line of members whose places along a dimension of `size` are these.
TorusLine line_of(const std::set<int>& places, int size) {
  TorusLine line{.members = static_cast<int>(places.size()), .spacing = size};
  if (line.members == 1) return {};
  for (auto next = std::next(places.begin()); next != places.end(); ++next)
    line.spacing = std::min(line.spacing, *next - *std::prev(next));
  // In a ring of two both links lead to the same neighbour, and there is only one.
  line.closed = size > 2 && line.members * line.spacing == size;
  return line;
}

// Units of a torus are numbered along its last dimension first.
std::vector<TorusLine> torus_lines(const Level& level, int unit_ranks, std::span<const int> ranks) {
  std::vector<TorusLine> lines;
  int stride = unit_ranks;
  for (auto size = level.torus.rbegin(); size != level.torus.rend(); ++size) {
    std::set<int> places;
    for (const int rank : ranks) places.insert(rank / stride % *size);
    lines.push_back(line_of(places, *size));
    stride *= *size;
  }
  return lines;
}

}  // namespace

std::span<const TorusLine> GroupShape::lines(size_t index) const {
  if (index >= lines_.size()) return {};
  return lines_[index];
}

void GroupShape::add(int members, std::vector<TorusLine> lines) {
  members_.push_back(members);
  if (lines.empty()) return;
  lines_.resize(members_.size());
  lines_.back() = std::move(lines);
}

double GroupShape::links(const Level& level, size_t index) const {
  if (level.fully_connected) return std::max(1, units(index) - 1);
  double all = 0;
  for (const TorusLine& line : lines(index))
    if (line.members > 1) all += line.links();
  return all > 0 ? all : 1;
}

double GroupShape::hops(const Level& level, size_t index) const {
  if (level.fully_connected) return units(index) > 1 ? 1 : 0;
  if (lines(index).empty()) return units(index) - 1;
  double all = 0;
  for (const TorusLine& line : lines(index)) all += (line.members - 1) / line.links();
  return all;
}

// On a ring of n a byte travels n / 4 links in the mean, on a line the middle link is crossed by a
// quarter of all.
double GroupShape::crossing(const Level& level, size_t index) const {
  const double here = members_[index], share = (here - inside(index)) / here;
  if (lines(index).empty()) return share / links(level, index);
  double most = 0;
  for (const TorusLine& line : lines(index))
    if (line.members > 1) most = std::max(most, line.members / (4 * line.links()));
  return most;
}

double GroupShape::spacing(size_t index) const {
  double most = 1;
  for (const TorusLine& line : lines(index))
    if (line.members > 1) most = std::max<double>(most, line.spacing);
  return most;
}

GroupShape group_shape(const Cluster& cluster, std::span<const int> ranks) {
  GroupShape shape;
  int unit_ranks = 1;
  for (const Level& level : cluster.levels) {
    int most = 0, members = 0, unit = -1;  // ranks ascend: those of a unit are consecutive
    for (const int rank : ranks) {
      members = rank / level.ranks == unit ? members + 1 : 1;
      unit = rank / level.ranks;
      most = std::max(most, members);
    }
    shape.add(most, torus_lines(level, unit_ranks, ranks));
    unit_ranks = level.ranks;
    if (most == static_cast<int>(ranks.size())) break;
  }
  TESSERA_CHECK(shape.back() == static_cast<int>(ranks.size()), "a group larger than the cluster");
  return shape;
}

std::vector<GroupShape> group_shapes(const Cluster& cluster, const Mesh& mesh,
                                     const AxisIds& axes) {
  std::set<GroupShape> shapes;
  for (int rank = 0; rank < mesh.num_ranks(); ++rank)
    if (mesh.index(rank, axes) == 0) shapes.insert(group_shape(cluster, mesh.group(rank, axes)));
  return {shapes.begin(), shapes.end()};
}

}  // namespace tessera
