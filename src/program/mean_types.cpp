// SPDX-License-Identifier: Apache-2.0
#include "program/mean_types.h"

#include <algorithm>
#include <cmath>

#include "ir/op_def.h"
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

// That a rank has, by the sort that fills the class's pools: of all experts' rows those of the
// experts that are sorted there.
double mean_rows(const ProgramClass& program_class, int64_t experts) {
  int64_t choices = 0, sorted = 0;
  for_each_kernel(program_class, OpKind::order_routes, [&](const KernelInstruction& sort) {
    choices = type_of(program_class, sort.operands[0]).num_elements();
    sorted = type_of(program_class, sort.results[2]).num_elements();
  });
  return experts == 0 ? 0 : static_cast<double>(choices * sorted) / static_cast<double>(experts);
}

}  // namespace

ExpertShare expert_share_of(const ProgramClass& program_class) {
  ExpertShare share;
  for_each_kernel(program_class, OpKind::route, [&](const KernelInstruction& route) {
    share.experts = type_of(program_class, route.operands[0]).dims.back().size;
    share.top_k = type_of(program_class, route.results[0]).dims.back().size;
  });
  // Where rows are exchanged, a rank also has pools of all experts, of what it sorted.
  for (const Buffer& buffer : program_class.buffers)
    if (is_pool(buffer.type) && (share.own == 0 || buffer.type.size_of(kExpertDim) < share.own))
      share.own = buffer.type.size_of(kExpertDim);
  return share;
}

std::vector<TensorType> mean_types_of(const ProgramClass& program_class,
                                      std::span<const int> buffers, double load) {
  std::vector<TensorType> types = types_of(program_class, buffers);
  if (std::ranges::none_of(types, is_pool)) return types;
  const int64_t all = expert_share_of(program_class).experts;
  const double rows = mean_rows(program_class, all);
  for (TensorType& type : types) {
    if (!is_pool(type) || rows == 0) continue;
    // What a rank sorts for the experts of all ranks is its own tokens', whatever their load.
    const int64_t experts = type.size_of(kExpertDim);
    const double slots = rows * (experts < all ? load : 1) / static_cast<double>(experts);
    for (Dim& dim : type.dims)
      if (dim.name == kSlotDim && slots < static_cast<double>(dim.size))
        dim.size = static_cast<int64_t>(std::ceil(slots));
  }
  return types;
}

int64_t given_bytes(const ProgramClass& program_class, const Instruction& instruction) {
  const std::span<const int> read = reads(instruction);
  const auto* collective = instruction.as<CollectiveInstruction>();
  if (collective && moves_rows(collective->op))
    return bytes_of(mean_types_of(program_class, read.first(1)));
  return bytes_of(program_class, read.empty() ? writes(instruction) : read);
}

}  // namespace tessera
