// SPDX-License-Identifier: Apache-2.0
// The groups of ranks that one rank's collectives run over, by the mesh axes they span ("dp+cp"),
// and the pairs that its stages' channels join.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>

#include "comm/communicator.h"
#include "program/program.h"

namespace tessera {

class RankGroups {
 public:
  // Makes every group that the program's collectives name, in an order that all ranks share.
  RankGroups(const Program& program, RankWorld& world);
  RankGroups(const Mesh& mesh, const std::set<std::string>& words, RankWorld& world);

  Communicator& at(std::string_view axes) const;
  Communicator* channel(int index) const { return channels_[static_cast<size_t>(index)].get(); }

 private:
  std::map<std::string, std::unique_ptr<Communicator>, std::less<>> groups_;
  std::vector<std::unique_ptr<Communicator>> channels_;  // null: from this rank to itself
};

}  // namespace tessera
