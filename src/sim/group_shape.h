// SPDX-License-Identifier: Apache-2.0
// How a group of ranks lies on a cluster's levels: how many members a unit of each level holds, and
// on a torus along which lines. What a collective takes follows from it (collective_cost.h).
#pragma once

#include <compare>
#include <initializer_list>
#include <span>
#include <vector>

#include "mesh/mesh.h"
#include "sim/cluster.h"

namespace tessera {

// The members of a group along one dimension of a torus.
struct TorusLine {
  int members = 1;
  int spacing = 1;      // links from one to the next; other groups' lines use those between, too
  bool closed = false;  // they go round the whole ring

  // Of one member, in both directions: its share where several lines use the same ones.
  double links() const { return (closed ? 2.0 : 1.0) / spacing; }
  auto operator<=>(const TorusLine&) const = default;
};

// By level, from the innermost up to the one that holds all of the group.
class GroupShape {
 public:
  GroupShape(std::initializer_list<int> members = {}) : members_(members) {}

  // The most members that one unit of the level holds.
  int operator[](size_t level) const { return members_[level]; }
  int back() const { return members_.back(); }
  size_t size() const { return members_.size(); }
  int inside(size_t level) const { return level == 0 ? 1 : members_[level - 1]; }
  // Units of the level below that hold members, in one unit of the level.
  int units(size_t level) const { return (members_[level] + inside(level) - 1) / inside(level); }

  // Links of one unit that a sum over its level uses at once, in one direction.
  double links(const Level& level, size_t index) const;
  // Latencies of such a sum.
  double hops(const Level& level, size_t index) const;
  // Bytes through the busiest link, of one byte that each member spreads evenly over the unit.
  double crossing(const Level& level, size_t index) const;
  // Links between neighbours of a ring over the group.
  double spacing(size_t index) const;

  void add(int members, std::vector<TorusLine> lines);
  auto operator<=>(const GroupShape&) const = default;

 private:
  std::span<const TorusLine> lines(size_t index) const;

  std::vector<int> members_;
  std::vector<std::vector<TorusLine>> lines_;  // empty where a level is no torus
};

// Ranks ascend.
GroupShape group_shape(const Cluster& cluster, std::span<const int> ranks);

// The distinct shapes of a mesh's groups along `axes`.
std::vector<GroupShape> group_shapes(const Cluster& cluster, const Mesh& mesh, const AxisIds& axes);

}  // namespace tessera
