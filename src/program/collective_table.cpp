// SPDX-License-Identifier: Apache-2.0
#include "program/collective_table.h"

#include <algorithm>
#include <map>

#include "program/mean_types.h"

namespace tessera {
namespace {

struct Flying {
  size_t row;
  bool worked = false;
};

class TableWalk {
 public:
  explicit TableWalk(const Program& program) : program_(program) {}

  std::vector<CollectiveRow> run(const Script& script) {
    for (const ScriptCall& call : script.calls) {
      const ProgramBlock& block = program_.blocks[static_cast<size_t>(call.block)];
      for (const Instruction& instruction : program_.class_of(block).routine(call.routine))
        step(call, block, instruction);
    }
    return std::move(rows_);
  }

 private:
  void step(const ScriptCall& call, const ProgramBlock& block, const Instruction& instruction) {
    if (instruction.as<WaitInstruction>()) {
      const auto found = flying_.find({block.name, place(call, instruction)});
      if (found == flying_.end()) return;
      if (found->second.worked) ++rows_[found->second.row].hidden;
      flying_.erase(found);
    } else if (has_peers(instruction, program_)) {
      start(call, block, instruction);
    } else {
      for (auto& [key, flying] : flying_) flying.worked = true;
    }
  }

  void start(const ScriptCall& call, const ProgramBlock& block, const Instruction& instruction) {
    const size_t row = row_of(call.routine, instruction);
    ++rows_[row].calls;
    rows_[row].bytes += given_bytes(program_.class_of(block), instruction);
    rows_[row].sent_bytes += sent_bytes(program_, program_.class_of(block), instruction);
    if (is_started(instruction)) flying_[{block.name, place(call, instruction)}] = {row};
  }

  int64_t place(const ScriptCall& call, const Instruction& instruction) const {
    return program_.offset_of(call, awaited_buffer(instruction));
  }

  // Messages between stages go along the pipeline's axis.
  std::string axes_of(const Instruction& instruction) const {
    const auto* collective = instruction.as<CollectiveInstruction>();
    return collective ? program_.group_of(*collective).name
                      : program_.mesh.axes()[static_cast<size_t>(program_.pipeline_axis)].name;
  }

  size_t row_of(RoutineKind routine, const Instruction& instruction) {
    const std::string axes = axes_of(instruction);
    for (size_t i = 0; i < rows_.size(); ++i)
      if (rows_[i].routine == routine && rows_[i].op == name(instruction) && rows_[i].axes == axes)
        return i;
    rows_.push_back({.routine = routine, .op = std::string(name(instruction)), .axes = axes});
    return rows_.size() - 1;
  }

  const Program& program_;
  std::vector<CollectiveRow> rows_;
  std::map<std::pair<std::string, int64_t>, Flying> flying_;
};

}  // namespace

double sent_bytes(const Program& program, const ProgramClass& program_class,
                  const Instruction& instruction) {
  if (!has_peers(instruction, program) || instruction.as<ReceiveInstruction>()) return 0;
  const auto* collective = instruction.as<CollectiveInstruction>();
  if (!collective) return static_cast<double>(given_bytes(program_class, instruction));
  const double ranks = program.group_of(*collective).size;
  const double others = (ranks - 1) / ranks;
  if (moves_rows(collective->op))
    return static_cast<double>(given_bytes(program_class, instruction)) * others;
  int64_t largest = 0;
  for (const int buffer : {collective->input, collective->output})
    largest = std::max(largest, program_class.buffers[static_cast<size_t>(buffer)].type.bytes());
  const auto bytes = static_cast<double>(largest);
  switch (collective->op) {
    case CollectiveOp::AllReduce:
      return 2 * bytes * others;
    case CollectiveOp::Shift:
      return bytes;
    default:
      return bytes * others;
  }
}

std::vector<CollectiveRow> collective_table(const Program& program, const Script& script) {
  return TableWalk(program).run(script);
}

}  // namespace tessera
