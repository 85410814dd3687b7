// SPDX-License-Identifier: Apache-2.0
#include "program/mean_types.h"

#include <algorithm>
#include <cmath>

#include "ir/op_list.h"
#include "ir/pool.h"
#include "program/buffer_types.h"

namespace tessera {
namespace {

const TensorType& type_of(const ProgramClass& program_class, int buffer) {
  return program_class.buffers[static_cast<size_t>(buffer)].type;
}

template <typename F>
void for_each_kernel(const ProgramClass& program_class, OpKind op, F&& visit) {
  for (const auto& routine : program_class.routines)
    for (const Instruction& instruction : routine)
      if (const auto* kernel = instruction.as<KernelInstruction>(); kernel && kernel->op == op)
        visit(*kernel);
}

// By the sort that fills the class's pools, of all ranks that share its experts.
double mean_slots(const ProgramClass& program_class) {
  int64_t choices = 0;
  for_each_kernel(program_class, OpKind::order_routes, [&](const KernelInstruction& sort) {
    choices = type_of(program_class, sort.operands[0]).num_elements();
  });
  const int64_t experts = expert_share_of(program_class).experts;
  return experts == 0 ? 0 : static_cast<double>(choices) / static_cast<double>(experts);
}

}  // namespace

ExpertShare expert_share_of(const ProgramClass& program_class) {
  ExpertShare share;
  for_each_kernel(program_class, OpKind::route, [&](const KernelInstruction& route) {
    share.experts = type_of(program_class, route.operands[0]).dims.back().size;
  });
  for (const Buffer& buffer : program_class.buffers)
    if (is_pool(buffer.type))
      for (const Dim& dim : buffer.type.dims)
        if (dim.name == kExpertDim) share.own = dim.size;
  return share;
}

std::vector<TensorType> mean_types_of(const ProgramClass& program_class,
                                      std::span<const int> buffers, double load) {
  std::vector<TensorType> types = types_of(program_class, buffers);
  if (std::ranges::none_of(types, is_pool)) return types;
  const double slots = mean_slots(program_class);
  for (TensorType& type : types)
    if (is_pool(type) && slots > 0)
      for (Dim& dim : type.dims)
        if (dim.name == kSlotDim && slots * load < static_cast<double>(dim.size))
          dim.size = static_cast<int64_t>(std::ceil(slots * load));
  return types;
}

}  // namespace tessera
