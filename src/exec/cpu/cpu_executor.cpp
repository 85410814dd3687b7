// SPDX-License-Identifier: Apache-2.0
#include "exec/cpu/cpu_executor.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "core/seconds_since.h"
#include "ir/op_def.h"
#include "program/pieces.h"

namespace tessera {
namespace {

constexpr auto kPoison = std::byte{0xff};  // an all-ones pattern is a NaN in every float dtype

using Clock = std::chrono::steady_clock;

void poison(std::span<std::byte> bytes) { std::fill(bytes.begin(), bytes.end(), kPoison); }

}  // namespace

CpuExecutor::CpuExecutor(Program program, CpuExecutorOptions options)
    : program_(std::move(program)),
      options_(std::move(options)),
      groups_(options_.world ? std::make_unique<RankGroups>(program_, *options_.world) : nullptr),
      persistent_(program_.persistent_bytes),
      window_(program_.window_bytes),
      slots_(program_.slot_bytes),
      scratch_(program_.scratch_bytes),
      threads_(options_.threads) {
  TESSERA_CHECK(options_.threads <= program_.threads, "{} threads, but workspaces for {}",
                options_.threads, program_.threads);
  size_t most = 0;
  for (const ProgramClass& program_class : program_.classes)
    for (const auto& routine : program_class.routines)
      for (const Instruction& instruction : routine)
        most = std::max({most, instruction.operands.size(), instruction.results.size()});
  operands_.resize(most);
  results_.resize(most);
  if (options_.poison)
    for (const Lifetime lifetime : {Lifetime::Window, Lifetime::Slot, Lifetime::Scratch})
      poison(arena(lifetime));
  const int ranks = options_.world ? options_.world->size() : 1;
  TESSERA_CHECK(ranks == program_.mesh.num_ranks(), "{} ranks for a mesh of {}", ranks,
                program_.mesh.num_ranks());
  if (program_.shard_axis >= 0) shard_ = program_.mesh.coordinate(rank(), program_.shard_axis);
  for (const RankValue& value : program_.rank_values) {
    const auto index = static_cast<int32_t>(program_.mesh.index(rank(), value.axes));
    std::memcpy(window_.data() + value.offset, &index, sizeof index);
  }
}

std::span<std::byte> CpuExecutor::arena(Lifetime lifetime) const {
  const auto span_of = [](const Arena& arena) {
    return std::span(arena.data(), static_cast<size_t>(arena.bytes()));
  };
  switch (lifetime) {
    case Lifetime::Persistent:
      return span_of(persistent_);
    case Lifetime::Window:
      return span_of(window_);
    case Lifetime::Slot:
      return span_of(slots_);
    case Lifetime::Scratch:
      return span_of(scratch_);
    case Lifetime::None:
      break;
  }
  check_failed("lifetime", __FILE__, __LINE__, "");
}

namespace {

void require_bytes(const std::string& name, size_t bytes, const TensorType& expected) {
  TESSERA_CHECK(static_cast<int64_t>(bytes) == expected.bytes(), "{}: {} bytes given, {} expected",
                name, bytes, expected.bytes());
}

}  // namespace

void CpuExecutor::write_state(const StateBuffer& state, std::span<const std::byte> bytes) {
  require_bytes(state.name, bytes.size(), state.type);
  const StateBuffer* own = program_.find_state(state.name);
  if (!own) return;
  std::byte* to = arena(own->place.lifetime).data();
  const int64_t element_bytes = size_bytes(own->type.dtype);
  for_each_piece(program_, rank(), own->type, own->placement, own->place,
                 [&](int64_t offset, int64_t element, int64_t count) {
                   std::memcpy(to + offset, bytes.data() + element * element_bytes,
                               static_cast<size_t>(count * element_bytes));
                 });
}

void CpuExecutor::read_pieces(const TensorType& type, const Placement& placement,
                              const FlatPlace& place, std::span<std::byte> bytes) const {
  const std::byte* from = arena(place.lifetime).data();
  const int64_t element_bytes = size_bytes(type.dtype);
  for_each_piece(program_, rank(), type, placement, place,
                 [&](int64_t offset, int64_t element, int64_t count) {
                   std::memcpy(bytes.data() + element * element_bytes, from + offset,
                               static_cast<size_t>(count * element_bytes));
                 });
}

void CpuExecutor::read_state(const StateBuffer& state, std::span<std::byte> bytes) const {
  require_bytes(state.name, bytes.size(), state.type);
  if (const StateBuffer* own = program_.find_state(state.name))
    read_pieces(own->type, own->placement, own->place, bytes);
}

void CpuExecutor::read_gradient(const StateBuffer& parameter, std::span<std::byte> bytes) const {
  TESSERA_CHECK(parameter.has_gradient(), "{} has no gradient", parameter.name);
  require_bytes(parameter.name, bytes.size(), parameter.gradient_type);
  if (const StateBuffer* own = program_.find_state(parameter.name))
    read_pieces(own->gradient_type, own->placement, own->gradient, bytes);
}

void CpuExecutor::read_states(int64_t offset, std::span<std::byte> bytes) const {
  std::memcpy(bytes.data(), persistent_.data() + offset, bytes.size());
}

void CpuExecutor::write_states(int64_t offset, std::span<const std::byte> bytes) {
  std::memcpy(persistent_.data() + offset, bytes.data(), bytes.size());
}

void CpuExecutor::write_batch(const HostBuffer& input, int microbatch,
                              std::span<const std::byte> bytes) {
  TESSERA_CHECK(microbatch >= 0 && microbatch < program_.microbatches);
  require_bytes(input.name, bytes.size(), input.whole);
  const HostBuffer* own = program_.find_batch_input(input.name);
  if (!own) return;
  std::byte* to = window_.data() + own->offset + microbatch * program_.batch_input_stride;
  const int64_t element_bytes = size_bytes(own->type.dtype);
  for_each_piece(program_, rank(), *own, [&](int64_t offset, int64_t element, int64_t count) {
    std::memcpy(to + offset, bytes.data() + element * element_bytes,
                static_cast<size_t>(count * element_bytes));
  });
}

void CpuExecutor::write_step(std::string_view name, double value) {
  const HostBuffer* buffer = program_.find_step_value(name);
  TESSERA_CHECK(buffer || program_.pipeline_axis >= 0, "no step value {}", name);
  if (buffer) std::memcpy(window_.data() + buffer->offset, &value, sizeof value);
}

double CpuExecutor::read_step(std::string_view name) const {
  const HostBuffer* buffer = program_.find_step_value(name);
  TESSERA_CHECK(buffer, "no step value {}", name);
  double value = 0;
  std::memcpy(&value, window_.data() + buffer->offset, sizeof value);
  return value;
}

void CpuExecutor::read_output(std::span<std::byte> bytes) const {
  require_bytes(program_.output.name, bytes.size(), program_.output.type);
  std::memcpy(bytes.data(), slots_.data() + program_.output.offset, bytes.size());
}

std::byte* CpuExecutor::address(const ScriptCall& call, const ProgramBlock& block,
                                int buffer) const {
  const Buffer& declared = program_.class_of(block).buffers[static_cast<size_t>(buffer)];
  const int64_t offset = program_.offset_of(call, buffer);
  TESSERA_CHECK(offset != kNone, "{}: {} is not bound", block.name, declared.name);
  return arena(declared.lifetime).data() + offset + declared.rank_stride * shard_;
}

std::span<std::byte> CpuExecutor::bytes_of(const ScriptCall& call, const ProgramBlock& block,
                                           int buffer) const {
  const TensorType& type = program_.class_of(block).buffers[static_cast<size_t>(buffer)].type;
  return {address(call, block, buffer), static_cast<size_t>(type.bytes())};
}

void CpuExecutor::poison_before(const ScriptCall& call, const ProgramBlock& block) {
  if (call.routine != RoutineKind::Forward && call.routine != RoutineKind::Evaluate) return;
  const ProgramClass& program_class = program_.class_of(block);
  for (const Instruction& instruction : program_class.routine(call.routine))
    for (const int result : instruction.results)
      if (program_class.buffers[static_cast<size_t>(result)].lifetime == Lifetime::Slot)
        poison(bytes_of(call, block, result));
}

void CpuExecutor::poison_after(const ScriptCall& call, const ProgramBlock& block,
                               const Instruction& instruction) {
  for (const int buffer : instruction.dead_after) poison(bytes_of(call, block, buffer));
  poison({scratch_.data() + instruction.workspace_offset,
          static_cast<size_t>(instruction.workspace_bytes)});
}

namespace {

bool stands_still(OpKind op) { return op == OpKind::wait || op_def(op).communicates; }

// A send or receive, or a collective along the pipeline's axis too ("dp+pp").
bool crosses_stages(const Program& program, const ScriptCall& call, const CpuCall& cpu_call) {
  if (program.pipeline_axis < 0) return false;
  if (call.channel != kNone || call.routine == RoutineKind::Join) return true;
  const std::string& axis = program.mesh.axes()[static_cast<size_t>(program.pipeline_axis)].name;
  return cpu_call.op != OpKind::wait &&
         cpu_call.attributes.word("axes").find(axis) != std::string::npos;
}

}  // namespace

void CpuExecutor::run_timed(const ScriptCall& call, const CpuCall& cpu_call) {
  const auto begin = Clock::now();
  cpu_kernel(cpu_call.op)(cpu_call);
  (crosses_stages(program_, call, cpu_call) ? times_.bubble_seconds
                                            : times_.exposed_communication_seconds) +=
      seconds_since(begin);
}

void CpuExecutor::run(const ScriptCall& call) {
  const ProgramBlock& block = program_.blocks[static_cast<size_t>(call.block)];
  const ProgramClass& program_class = program_.class_of(block);
  size_t accumulator = 0;
  if (options_.poison) poison_before(call, block);
  for (const Instruction& instruction : program_class.routine(call.routine)) {
    const auto ref = [&](int buffer) {
      return TensorRef{&program_class.buffers[static_cast<size_t>(buffer)].type,
                       address(call, block, buffer)};
    };
    for (size_t i = 0; i < instruction.operands.size(); ++i)
      operands_[i] = ref(instruction.operands[i]);
    for (size_t i = 0; i < instruction.results.size(); ++i)
      results_[i] = ref(instruction.results[i]);
    uint64_t accumulate = 0;
    for (const int result : instruction.accumulators)
      if (call.accumulate[accumulator++]) accumulate |= uint64_t{1} << result;
    const CpuCall cpu_call{.op = instruction.op,
                           .attributes = instruction.attributes,
                           .operands = {operands_.data(), instruction.operands.size()},
                           .results = {results_.data(), instruction.results.size()},
                           .accumulate = accumulate,
                           .workspace = {scratch_.data() + instruction.workspace_offset,
                                         static_cast<size_t>(instruction.workspace_bytes)},
                           .threads = threads_,
                           .groups = groups_.get(),
                           .in_flight = &in_flight_,
                           .channel = call.channel};
    if (options_.observer)
      options_.observer({program_, call, program_class, instruction, cpu_call, false});
    if (groups_ && stands_still(instruction.op))
      run_timed(call, cpu_call);
    else
      cpu_kernel(instruction.op)(cpu_call);
    if (options_.observer)
      options_.observer({program_, call, program_class, instruction, cpu_call, true});
    if (options_.poison) poison_after(call, block, instruction);
  }
}

void CpuExecutor::run(std::string_view script) { run(program_.script(script)); }

void CpuExecutor::run(const Script& script) {
  times_ = {};
  const auto begin = Clock::now();
  for (const ScriptCall& call : script.calls) run(call);
  times_.run_seconds = seconds_since(begin);
  TESSERA_CHECK(in_flight_.empty(), "script {} ends with collectives in flight", script.name);
}

}  // namespace tessera
