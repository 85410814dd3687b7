// SPDX-License-Identifier: Apache-2.0
#include "exec/rank_groups.h"

#include <set>

#include "core/error.h"

namespace tessera {

RankGroups::RankGroups(const Program& program, RankWorld& world) {
  std::set<std::string> words;
  for (const ProgramClass& program_class : program.classes)
    for (const auto& routine : program_class.routines)
      for (const Instruction& instruction : routine)
        if (instruction.op != OpKind::send && instruction.op != OpKind::recv &&
            instruction.attributes.has("axes") && instruction.attributes.integer("ranks") > 1)
          words.insert(instruction.attributes.word("axes"));
  for (const std::string& word : words)
    groups_[word] = world.group(program.mesh.group(world.rank(), word), word);
  for (const StageChannel& channel : program.channels) {
    const std::vector<int> line = program.mesh.group(world.rank(), {program.pipeline_axis});
    const auto end = [&](int place) { return line[static_cast<size_t>(place)]; };
    channels_.push_back(channel.from == channel.to
                            ? nullptr
                            : world.group({end(channel.from), end(channel.to)}, channel.name));
  }
}

Communicator& RankGroups::at(std::string_view axes) const {
  const auto found = groups_.find(axes);
  TESSERA_CHECK(found != groups_.end(), "no group over {}", axes);
  return *found->second;
}

}  // namespace tessera
