// SPDX-License-Identifier: Apache-2.0
#include "exec/rank_groups.h"

#include "core/error.h"
#include "ir/op_list.h"

namespace tessera {

RankGroups::RankGroups(const Program& program, RankWorld* world)
    : RankGroups(program.mesh, program.groups, world) {
  for (const StageChannel& channel : program.channels) {
    TESSERA_CHECK(world, "channel {} outside a pipeline", channel.name);
    const std::vector<int> line = program.mesh.group(world->rank(), {program.pipeline_axis});
    const auto end = [&](int place) { return line[static_cast<size_t>(place)]; };
    channels_.push_back(channel.from == channel.to
                            ? nullptr
                            : world->group({end(channel.from), end(channel.to)}, channel.name));
  }
}

RankGroups::RankGroups(const Mesh& mesh, std::span<const Group> groups, RankWorld* world) {
  for (const Group& group : groups) {
    TESSERA_CHECK(world || group.size == 1, "group {} outside a mesh", group.name);
    groups_.push_back(group.size == 1
                          ? nullptr
                          : world->group(members_of(group, mesh, world->rank()), group.name));
  }
}

}  // namespace tessera
