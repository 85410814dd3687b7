// SPDX-License-Identifier: Apache-2.0
#include "program/mean_types.h"

#include <algorithm>

#include "ir/op_list.h"
#include "ir/pool.h"
#include "program/buffer_types.h"

namespace tessera {
namespace {

// By the router and the sort that fill the class's pools; 0: it has none.
int64_t mean_slots(const ProgramClass& program_class) {
  const auto type = [&](int buffer) -> const TensorType& {
    return program_class.buffers[static_cast<size_t>(buffer)].type;
  };
  int64_t choices = 0, experts = 0;  // of all ranks that share them
  for (const auto& routine : program_class.routines)
    for (const Instruction& instruction : routine) {
      const auto* kernel = instruction.as<KernelInstruction>();
      if (kernel && kernel->op == OpKind::route)
        experts = type(kernel->operands[0]).dims.back().size;
      if (kernel && kernel->op == OpKind::order_routes)
        choices = type(kernel->operands[0]).num_elements();
    }
  return experts == 0 ? 0 : (choices + experts - 1) / experts;
}

}  // namespace

std::vector<TensorType> mean_types_of(const ProgramClass& program_class,
                                      std::span<const int> buffers) {
  std::vector<TensorType> types = types_of(program_class, buffers);
  if (std::ranges::none_of(types, is_pool)) return types;
  const int64_t slots = mean_slots(program_class);
  for (TensorType& type : types)
    if (is_pool(type) && slots > 0)
      for (Dim& dim : type.dims)
        if (dim.name == kSlotDim) dim.size = std::min(dim.size, slots);
  return types;
}

}  // namespace tessera
