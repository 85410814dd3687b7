// SPDX-License-Identifier: Apache-2.0
#include "exec/rank_groups.h"

#include "core/error.h"
#include "ir/op_list.h"

namespace tessera {

namespace {

std::set<std::string> words_of(const Program& program) {
  std::set<std::string> words;
  for (const ProgramClass& program_class : program.classes)
    for (const auto& routine : program_class.routines)
      for (const Instruction& instruction : routine)
        if (instruction.op != OpKind::send && instruction.op != OpKind::recv &&
            instruction.attributes.has("axes") && instruction.attributes.integer("ranks") > 1)
          words.insert(instruction.attributes.word("axes"));
  return words;
}

}  // namespace

RankGroups::RankGroups(const Program& program, RankWorld& world)
    : RankGroups(program.mesh, words_of(program), world) {
  for (const StageChannel& channel : program.channels) {
    const std::vector<int> line = program.mesh.group(world.rank(), {program.pipeline_axis});
    const auto end = [&](int place) { return line[static_cast<size_t>(place)]; };
    channels_.push_back(channel.from == channel.to
                            ? nullptr
                            : world.group({end(channel.from), end(channel.to)}, channel.name));
  }
}

RankGroups::RankGroups(const Mesh& mesh, const std::set<std::string>& words, RankWorld& world) {
  for (const std::string& word : words)
    groups_[word] = world.group(mesh.group(world.rank(), word), word);
}

Communicator& RankGroups::at(std::string_view axes) const {
  const auto found = groups_.find(axes);
  TESSERA_CHECK(found != groups_.end(), "no group over {}", axes);
  return *found->second;
}

}  // namespace tessera
