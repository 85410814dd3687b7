// SPDX-License-Identifier: Apache-2.0
#include "exec/non_finite.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "ir/op_list.h"

namespace tessera {
namespace {

// The backward goes through stages and blocks the other way round. What ranks receive comes last:
// the rank that made it says where.
auto order_of(const NonFinite& value) {
  const int32_t way = value.side == static_cast<int32_t>(StepSide::Backward) ? -1 : 1;
  return std::tuple(value.found == 0, value.received, value.side, value.microbatch,
                    way * value.stage, way * value.block, value.place, value.rank);
}

// A logarithm of a sum over keys that a query does not see, and statistics of a shard that has no
// class of the vocabulary.
bool may_be_infinite(OpKind op, size_t result) {
  const bool attends = op == OpKind::attention || op == OpKind::merge_attention;
  return (attends && result > 0) || op == OpKind::output_stats;
}

}  // namespace

NonFinite first_of(std::span<const NonFinite> ranks) {
  return *std::min_element(ranks.begin(), ranks.end(), [](const NonFinite& a, const NonFinite& b) {
    return order_of(a) < order_of(b);
  });
}

std::string to_text(const NonFinite& value, int ranks) {
  std::string text = value.what.data();
  if (ranks > 1) text += fmt::format(", rank {}", value.rank);
  return text;
}

bool may_look_at(const Instruction& instruction, const BoundCall& bound, size_t index) {
  const auto* kernel = instruction.as<KernelInstruction>();
  if (is_started(instruction) || (kernel && may_be_infinite(kernel->op, index))) return false;
  const TensorRef& result = bound.results[index];
  return result.type && result.type->dtype != DType::Int32;
}

bool is_finite(const TensorRef& value) {
  bool finite = true;
  dispatch_float(value.type->dtype, [&]<typename T>() {
    const T* elements = value.as<T>();
    const int64_t count = value.type->num_elements();
    for (int64_t i = 0; i < count && finite; ++i)
      finite = std::isfinite(static_cast<double>(load(elements[i])));
  });
  return finite;
}

NonFinite non_finite_at(const Program& program, int rank, const ScriptCall& call,
                        const Instruction& instruction, size_t index) {
  const ProgramBlock& block = program.blocks[static_cast<size_t>(call.block)];
  const ProgramClass& made_in = program.class_of(block);
  const auto& routine = made_in.routine(call.routine);
  const int buffer = writes(instruction)[index];
  NonFinite value{.found = 1,
                  .received = instruction.as<KernelInstruction>() ? 0 : 1,
                  .rank = rank,
                  .side = static_cast<int32_t>(side(call.routine)),
                  .microbatch = call.microbatch,
                  .block = call.block,
                  .place = static_cast<int32_t>(&instruction - routine.data())};
  if (program.pipeline_axis >= 0)
    value.stage = static_cast<int32_t>(program.mesh.coordinate(rank, program.pipeline_axis));
  const std::string text = fmt::format(
      "%{}: {} of {}, {}, microbatch {}", made_in.buffers[static_cast<size_t>(buffer)].name,
      name(instruction), block.name, name(call.routine), call.microbatch);
  text.copy(value.what.data(), value.what.size() - 1);
  return value;
}

}  // namespace tessera
