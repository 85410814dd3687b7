// SPDX-License-Identifier: Apache-2.0
#include "traffic.h"

#include <algorithm>

#include "ir/op_def.h"

namespace tessera {

Traffic traffic_of(const Program& program, std::string_view script,
                   const std::function<bool(const ScriptCall&)>& counts) {
  Traffic traffic;
  for (const ScriptCall& call : program.script(script).calls) {
    if (!counts(call)) continue;
    const ProgramClass& here = program.class_of(program.blocks[static_cast<size_t>(call.block)]);
    for (const Instruction& instruction : here.routine(call.routine)) {
      if (!op_def(instruction.op).communicates) continue;
      const auto type = [&](int buffer) -> const TensorType& {
        return here.buffers[static_cast<size_t>(buffer)].type;
      };
      const TensorType &given = type(instruction.operands[0]), &had = type(instruction.results[0]);
      Moved& moved = traffic[given.dims.empty() ? "scalar"
                                                : fmt::format("{} {}", name(instruction.op),
                                                              instruction.attributes.word("axes"))];
      ++moved.calls;
      moved.elements += std::max(given.num_elements(), had.num_elements());
    }
  }
  return traffic;
}

}  // namespace tessera
