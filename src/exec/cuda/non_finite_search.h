// SPDX-License-Identifier: Apache-2.0
// Looks at every value that a rank's script makes, on the GPU: a kernel after each instruction
// notes whether a value is not finite. Nothing is read before the script has ended.
#pragma once

#include <vector>

#include "exec/cuda/device_memory.h"
#include "exec/non_finite.h"

namespace tessera {

class NonFiniteSearch {
 public:
  // With a note for each result of the script.
  NonFiniteSearch(const Program& program, const Script& script);

  // After the instruction, on its stream.
  void look_at(const ScriptCall& call, const Instruction& instruction, const BoundCall& bound,
               const DeviceStream& stream);
  // The stream must be done.
  NonFinite first(const Program& program, int rank) const;

 private:
  struct Looked {
    const ScriptCall* call;
    const Instruction* instruction;
    size_t result;
  };
  DeviceMemory notes_;  // an int32 each
  std::vector<Looked> looked_;
};

}  // namespace tessera
