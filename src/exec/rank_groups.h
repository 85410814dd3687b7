// SPDX-License-Identifier: Apache-2.0
// The communicators of one rank: one for each group of the Program, and one for each channel
// between its stages and others.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "comm/communicator.h"
#include "program/program.h"

namespace tessera {

class RankGroups {
 public:
  // In the program's order, which all ranks share. Null world: there is one rank.
  RankGroups(const Program& program, RankWorld* world);
  RankGroups(const Mesh& mesh, std::span<const Group> groups, RankWorld* world);

  // Null: the rank is alone in the group.
  Communicator* at(GroupId group) const { return groups_.at(static_cast<size_t>(group)).get(); }
  // Null: from this rank to itself.
  Communicator* channel(int index) const { return channels_.at(static_cast<size_t>(index)).get(); }

 private:
  std::vector<std::unique_ptr<Communicator>> groups_, channels_;
};

}  // namespace tessera
