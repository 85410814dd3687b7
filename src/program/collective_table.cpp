// SPDX-License-Identifier: Apache-2.0
#include "program/collective_table.h"

#include <map>

#include "ir/op_def.h"
#include "ir/op_list.h"

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
    if (instruction.op == OpKind::wait) {
      const auto found = flying_.find({block.name, place(call, instruction.operands[0])});
      if (found == flying_.end()) return;
      if (found->second.worked) ++rows_[found->second.row].hidden;
      flying_.erase(found);
    } else if (op_def(instruction.op).communicates && instruction.attributes.integer("ranks") > 1) {
      start(call, block, instruction);
    } else {
      for (auto& [key, flying] : flying_) flying.worked = true;
    }
  }

  void start(const ScriptCall& call, const ProgramBlock& block, const Instruction& instruction) {
    const size_t row = row_of(call.routine, instruction);
    ++rows_[row].calls;
    rows_[row].bytes +=
        program_.class_of(block).buffers[static_cast<size_t>(instruction.operands[0])].type.bytes();
    if (instruction.attributes.integer("async") != 0)
      flying_[{block.name, place(call, instruction.results[0])}] = {row};
  }

  int64_t place(const ScriptCall& call, int buffer) const {
    return program_.offset_of(call, buffer);
  }

  size_t row_of(RoutineKind routine, const Instruction& instruction) {
    const std::string& axes = instruction.attributes.word("axes");
    for (size_t i = 0; i < rows_.size(); ++i)
      if (rows_[i].routine == routine && rows_[i].op == instruction.op && rows_[i].axes == axes)
        return i;
    rows_.push_back({.routine = routine, .op = instruction.op, .axes = axes});
    return rows_.size() - 1;
  }

  const Program& program_;
  std::vector<CollectiveRow> rows_;
  std::map<std::pair<std::string, int64_t>, Flying> flying_;
};

}  // namespace

std::vector<CollectiveRow> collective_table(const Program& program, const Script& script) {
  return TableWalk(program).run(script);
}

}  // namespace tessera
