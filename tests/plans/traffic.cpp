// SPDX-License-Identifier: Apache-2.0
#include "traffic.h"

#include <algorithm>

namespace tessera {

Traffic traffic_of(const Program& program, std::string_view script,
                   const std::function<bool(const ScriptCall&)>& counts) {
  Traffic traffic;
  for (const ScriptCall& call : program.script(script).calls) {
    if (!counts(call)) continue;
    const ProgramClass& here = program.class_of(program.blocks[static_cast<size_t>(call.block)]);
    for (const Instruction& instruction : here.routine(call.routine)) {
      if (!communicates(instruction)) continue;
      const auto type = [&](int buffer) -> const TensorType& {
        return here.buffers[static_cast<size_t>(buffer)].type;
      };
      const auto* collective = instruction.as<CollectiveInstruction>();
      const std::string over = collective ? program.group_of(*collective).name : "pp";
      int64_t elements = 0;
      bool scalar = true;
      for (const std::span<const int> buffers : {reads(instruction), writes(instruction)})
        for (const int buffer : buffers) {
          elements = std::max(elements, type(buffer).num_elements());
          scalar = scalar && type(buffer).dims.empty();
        }
      Moved& moved = traffic[scalar ? "scalar" : fmt::format("{} {}", name(instruction), over)];
      ++moved.calls;
      moved.elements += elements;
    }
  }
  return traffic;
}

}  // namespace tessera
