// SPDX-License-Identifier: Apache-2.0
#include "exec/rank_executor.h"

#include <algorithm>
#include <utility>

#include "program/pieces.h"

namespace tessera {
namespace {

void require_bytes(const std::string& name, size_t bytes, const TensorType& expected) {
  TESSERA_CHECK(static_cast<int64_t>(bytes) == expected.bytes(), "{}: {} bytes given, {} expected",
                name, bytes, expected.bytes());
}

// Elements [element, element + count) of a tensor.
template <typename Byte>
std::span<Byte> stretch(std::span<Byte> bytes, const TensorType& type, int64_t element,
                        int64_t count) {
  const int64_t element_bytes = size_bytes(type.dtype);
  return bytes.subspan(static_cast<size_t>(element * element_bytes),
                       static_cast<size_t>(count * element_bytes));
}

}  // namespace

RankExecutor::RankExecutor(Program program, int rank) : program_(std::move(program)), rank_(rank) {
  make_bindings();
}

void RankExecutor::take_program(Program program, ProgramChange change) {
  TESSERA_CHECK(program.persistent_bytes == program_.persistent_bytes &&
                    program.host_persistent_bytes == program_.host_persistent_bytes &&
                    program.groups.size() == program_.groups.size() &&
                    program.channels.size() == program_.channels.size() &&
                    std::ranges::equal(program.states, program_.states,
                                       [](const StateBuffer& a, const StateBuffer& b) {
                                         return a.name == b.name && a.type == b.type &&
                                                a.place.offset == b.place.offset;
                                       }),
                "another program than {}", program_.name);
  Program old = std::exchange(program_, std::move(program));
  if (change == ProgramChange::Memory) replaced_.push_back(std::move(old));
  make_bindings();
}

void RankExecutor::make_bindings() {
  size_t most = 0;
  for (const ProgramClass& program_class : program_.classes)
    for (const auto& routine : program_class.routines)
      for (const Instruction& instruction : routine)
        most = std::max({most, reads(instruction).size(), writes(instruction).size()});
  operands_.resize(most);
  results_.resize(most);
}

void RankExecutor::write_rank_values() {
  for (const RankValue& value : program_.rank_values) {
    const auto index = static_cast<int32_t>(program_.mesh.index(rank_, value.axes));
    copy_in(arena(Lifetime::Window).data() + value.offset, std::as_bytes(std::span(&index, 1)));
  }
}

void RankExecutor::write_state(const StateBuffer& state, std::span<const std::byte> bytes) {
  require_bytes(state.name, bytes.size(), state.type);
  const StateBuffer* own = program_.find_state(state.name);
  if (!own) return;
  std::byte* to = arena(own->place.space, own->place.lifetime).data();
  for_each_piece(program_, rank_, own->type, own->placement, own->place,
                 [&](int64_t offset, int64_t element, int64_t count) {
                   copy_in(to + offset, stretch(bytes, own->type, element, count));
                 });
}

void RankExecutor::read_pieces(const TensorType& type, const Placement& placement,
                               const FlatPlace& place, std::span<std::byte> bytes) const {
  const std::byte* from = arena(place.space, place.lifetime).data();
  for_each_piece(program_, rank_, type, placement, place,
                 [&](int64_t offset, int64_t element, int64_t count) {
                   copy_out(stretch(bytes, type, element, count), from + offset);
                 });
}

void RankExecutor::read_state(const StateBuffer& state, std::span<std::byte> bytes) const {
  require_bytes(state.name, bytes.size(), state.type);
  if (const StateBuffer* own = program_.find_state(state.name))
    read_pieces(own->type, own->placement, own->place, bytes);
}

void RankExecutor::read_gradient(const StateBuffer& parameter, std::span<std::byte> bytes) const {
  TESSERA_CHECK(parameter.has_gradient(), "{} has no gradient", parameter.name);
  require_bytes(parameter.name, bytes.size(), parameter.gradient_type);
  if (const StateBuffer* own = program_.find_state(parameter.name))
    read_pieces(own->gradient_type, own->placement, own->gradient, bytes);
}

void RankExecutor::read_loads(const HostView& view, std::span<int32_t> loads) const {
  size_t at = 0;
  for (const HostBuffer& load : view.loads) {
    const auto count = static_cast<size_t>(load.type.num_elements());
    if (const HostBuffer* own = program_.find_load(load.name))
      copy_out(std::as_writable_bytes(loads.subspan(at, count)),
               arena(Lifetime::Window).data() + own->offset);
    at += count;
  }
}

std::vector<int32_t> RankExecutor::read_loads() const {
  std::vector<int32_t> loads(static_cast<size_t>(num_loads(program_)));
  read_loads(program_, loads);
  return loads;
}

void RankExecutor::read_states(MemorySpace space, int64_t offset,
                               std::span<std::byte> bytes) const {
  copy_out(bytes, arena(space, Lifetime::Persistent).data() + offset);
}

void RankExecutor::write_states(MemorySpace space, int64_t offset,
                                std::span<const std::byte> bytes) {
  copy_in(arena(space, Lifetime::Persistent).data() + offset, bytes);
}

void RankExecutor::write_batch(const HostBuffer& input, int microbatch,
                               std::span<const std::byte> bytes) {
  TESSERA_CHECK(microbatch >= 0 && microbatch < program_.microbatches);
  require_bytes(input.name, bytes.size(), input.whole);
  const HostBuffer* own = program_.find_batch_input(input.name);
  if (!own) return;
  std::byte* to =
      arena(Lifetime::Window).data() + own->offset + microbatch * program_.batch_input_stride;
  for_each_piece(program_, rank_, *own, [&](int64_t offset, int64_t element, int64_t count) {
    copy_input(to + offset, stretch(bytes, own->type, element, count));
  });
}

void RankExecutor::write_step(std::string_view name, double value) {
  const HostBuffer* buffer = program_.find_step_value(name);
  TESSERA_CHECK(buffer || program_.pipeline_axis >= 0, "no step value {}", name);
  if (buffer)
    copy_input(arena(Lifetime::Window).data() + buffer->offset,
               std::as_bytes(std::span(&value, 1)));
}

double RankExecutor::read_step(std::string_view name) const {
  const HostBuffer* buffer = program_.find_step_value(name);
  TESSERA_CHECK(buffer, "no step value {}", name);
  double value = 0;
  copy_out(std::as_writable_bytes(std::span(&value, 1)),
           arena(Lifetime::Window).data() + buffer->offset);
  return value;
}

void RankExecutor::put_nan(const BoundCall& bound) {
  for (const TensorRef& operand : bound.operands) {
    if (!operand.type || operand.type->dtype == DType::Int32) continue;
    return poison({operand.data, static_cast<size_t>(size_bytes(operand.type->dtype))});
  }
}

void RankExecutor::read_output(std::span<std::byte> bytes) const {
  const HostBuffer& output = program_.output;
  require_bytes(output.name, bytes.size(), output.whole);
  const std::byte* from = arena(Lifetime::Slot).data() + output.offset;
  for_each_piece(program_, rank_, output, [&](int64_t offset, int64_t element, int64_t count) {
    copy_out(stretch(bytes, output.type, element, count), from + offset);
  });
}

std::byte* RankExecutor::address(const ScriptCall& call, const ProgramBlock& block,
                                 int buffer) const {
  const Buffer& declared = program_.class_of(block).buffers[static_cast<size_t>(buffer)];
  const int64_t offset = program_.offset_of(call, buffer);
  TESSERA_CHECK(offset != kNone, "{}: {} is not bound", block.name, declared.name);
  return arena(declared.space, declared.lifetime).data() + offset +
         declared.rank_stride * program_.mesh.index(rank_, declared.rank_axes);
}

std::span<std::byte> RankExecutor::bytes_of(const ScriptCall& call, const ProgramBlock& block,
                                            int buffer) const {
  const TensorType& type = program_.class_of(block).buffers[static_cast<size_t>(buffer)].type;
  return {address(call, block, buffer), static_cast<size_t>(type.bytes())};
}

const BoundCall& RankExecutor::bind(const ScriptCall& call, const ProgramBlock& block,
                                    const Instruction& instruction, size_t& accumulator) {
  const auto ref = [&](int buffer) {
    return TensorRef{&program_.class_of(block).buffers[static_cast<size_t>(buffer)].type,
                     address(call, block, buffer)};
  };
  const std::span<const int> read = reads(instruction), written = writes(instruction);
  std::ranges::transform(read, operands_.begin(), ref);
  std::ranges::transform(written, results_.begin(), ref);
  bound_ = {.operands = {operands_.data(), read.size()},
            .results = {results_.data(), written.size()},
            .accumulate = 0,
            .workspace = {arena(Lifetime::Scratch).data() + instruction.workspace_offset,
                          static_cast<size_t>(instruction.workspace_bytes)}};
  for (const int result : instruction.accumulators)
    if (call.accumulate[accumulator++]) bound_.accumulate |= uint64_t{1} << result;
  return bound_;
}

void RankExecutor::poison_before(const ScriptCall& call, const ProgramBlock& block) {
  if (call.routine != RoutineKind::Forward && call.routine != RoutineKind::Evaluate) return;
  const ProgramClass& program_class = program_.class_of(block);
  for (const Instruction& instruction : program_class.routine(call.routine))
    for (const int result : writes(instruction))
      if (program_class.buffers[static_cast<size_t>(result)].lifetime == Lifetime::Slot)
        poison(bytes_of(call, block, result));
}

void RankExecutor::poison_after(const ScriptCall& call, const ProgramBlock& block,
                                const Instruction& instruction) {
  for (const int buffer : instruction.dead_after) poison(bytes_of(call, block, buffer));
  poison({arena(Lifetime::Scratch).data() + instruction.workspace_offset,
          static_cast<size_t>(instruction.workspace_bytes)});
}

}  // namespace tessera
