// SPDX-License-Identifier: Apache-2.0
#include "exec/cuda/cuda_executor.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "exec/cuda/first_values.h"
#include "program/buffer_types.h"
#include "program/pieces.h"

namespace tessera {
namespace {

constexpr int64_t kStagingBytes = 32 << 20;

int64_t aligned(int64_t bytes) { return (bytes + 255) / 256 * 256; }

int64_t workspace_beyond_plan(const Program& program, CausalAttention& attention) {
  int64_t most = 0;
  for (const ProgramClass& each : program.classes)
    for (const auto& routine : each.routines)
      for (const Instruction& instruction : routine) {
        const auto operands = types_of(each, instruction.operands);
        const auto results = types_of(each, instruction.results);
        cuda_kernel(instruction.op);  // or says that there is none, before anything runs
        const OpCall call{instruction.op, instruction.attributes, operands, results};
        int64_t needed = cuda_workspace_bytes(call);
        if (call.op == OpKind::attention || call.op == OpKind::attention_grad)
          needed = std::max(needed, attention.workspace_bytes(call));
        if (needed > instruction.workspace_bytes) most = std::max(most, needed);
      }
  return most;
}

void require_bytes(const std::string& name, size_t bytes, const TensorType& expected) {
  TESSERA_CHECK(static_cast<int64_t>(bytes) == expected.bytes(), "{}: {} bytes given, {} expected",
                name, bytes, expected.bytes());
}

}  // namespace

CudaExecutor::Layout::Layout(const Program& program, CausalAttention& attention) {
  int64_t next = 0;
  const auto take = [&](int64_t size) { return std::exchange(next, next + aligned(size)); };
  arenas = {take(program.persistent_bytes), take(program.window_bytes), take(program.slot_bytes),
            take(program.scratch_bytes)};
  workspace_bytes = workspace_beyond_plan(program, attention);
  workspace = take(workspace_bytes);
  bytes = next;
}

CudaExecutor::InputLayout::InputLayout(const Program& program) {
  for (const HostBuffer& each : program.batch_inputs)
    batches.push_back(std::exchange(bytes, bytes + program.microbatches * each.type.bytes()));
  bytes = aligned(bytes);
  for (const HostBuffer& each : program.step_values)
    steps.push_back(std::exchange(bytes, bytes + each.type.bytes()));
}

CudaExecutor::CudaExecutor(Program program, CudaExecutorOptions options)
    : program_(std::move(program)),
      options_(options),
      batches_(program_),
      layout_(program_, attention_),
      memory_(layout_.bytes),
      staging_(kStagingBytes),
      input_layout_(program_),
      inputs_(input_layout_.bytes) {
  TESSERA_CHECK(program_.mesh.num_ranks() == 1, "{} ranks on one GPU", program_.mesh.num_ranks());
  size_t most = 0;
  for (const ProgramClass& each : program_.classes)
    for (const auto& routine : each.routines)
      for (const Instruction& instruction : routine)
        most = std::max({most, instruction.operands.size(), instruction.results.size()});
  operands_.resize(most);
  results_.resize(most);
  for (const RankValue& value : program_.rank_values) {
    const int32_t index = 0;
    to_device(arena(Lifetime::Window) + value.offset, std::as_bytes(std::span(&index, 1)));
  }
}

std::byte* CudaExecutor::arena(Lifetime lifetime) const {
  size_t which = 0;
  switch (lifetime) {
    case Lifetime::Persistent:
      break;
    case Lifetime::Window:
      which = 1;
      break;
    case Lifetime::Slot:
      which = 2;
      break;
    case Lifetime::Scratch:
      which = 3;
      break;
    case Lifetime::None:
      check_failed("lifetime", __FILE__, __LINE__, "");
  }
  return memory_.data() + layout_.arenas[which];
}

void CudaExecutor::to_device(std::byte* to, std::span<const std::byte> bytes) {
  for (size_t at = 0; at < bytes.size(); at += static_cast<size_t>(kStagingBytes)) {
    const auto part = bytes.subspan(at, std::min(bytes.size() - at, size_t{kStagingBytes}));
    std::memcpy(staging_.data(), part.data(), part.size());
    check_cuda(cudaMemcpyAsync(to + at, staging_.data(), part.size(), cudaMemcpyHostToDevice,
                               stream_.get()),
               "copy to the GPU");
    stream_.wait();
  }
}

void CudaExecutor::from_device(std::span<std::byte> bytes, const std::byte* from) const {
  for (size_t at = 0; at < bytes.size(); at += static_cast<size_t>(kStagingBytes)) {
    const auto part = bytes.subspan(at, std::min(bytes.size() - at, size_t{kStagingBytes}));
    check_cuda(cudaMemcpyAsync(staging_.data(), from + at, part.size(), cudaMemcpyDeviceToHost,
                               stream_.get()),
               "copy from the GPU");
    stream_.wait();
    std::memcpy(part.data(), staging_.data(), part.size());
  }
}

void CudaExecutor::write_state(const StateBuffer& state, std::span<const std::byte> bytes) {
  require_bytes(state.name, bytes.size(), state.type);
  const StateBuffer* own = program_.find_state(state.name);
  if (!own) return;
  std::byte* to = arena(own->place.lifetime);
  const int64_t element_bytes = size_bytes(own->type.dtype);
  for_each_piece(program_, 0, own->type, own->placement, own->place,
                 [&](int64_t offset, int64_t element, int64_t count) {
                   to_device(to + offset,
                             bytes.subspan(static_cast<size_t>(element * element_bytes),
                                           static_cast<size_t>(count * element_bytes)));
                 });
}

bool CudaExecutor::make_first_value(const StateBuffer& state, const StateBuffer& origin,
                                    uint64_t seed) {
  const FirstValues values(origin.spec.init, RandomStream(seed, origin.name));
  if (!values.can_make(state.type.dtype)) return false;
  const StateBuffer* own = program_.find_state(state.name);
  if (!own) return true;
  for_each_piece(program_, 0, own->type, own->placement, own->place,
                 [&](int64_t offset, int64_t element, int64_t count) {
                   values.write(own->type.dtype, arena(own->place.lifetime) + offset, element,
                                count, stream_);
                 });
  return true;
}

void CudaExecutor::read_pieces(const TensorType& type, const Placement& placement,
                               const FlatPlace& place, std::span<std::byte> bytes) const {
  const std::byte* from = arena(place.lifetime);
  const int64_t element_bytes = size_bytes(type.dtype);
  for_each_piece(program_, 0, type, placement, place,
                 [&](int64_t offset, int64_t element, int64_t count) {
                   from_device(bytes.subspan(static_cast<size_t>(element * element_bytes),
                                             static_cast<size_t>(count * element_bytes)),
                               from + offset);
                 });
}

void CudaExecutor::read_state(const StateBuffer& state, std::span<std::byte> bytes) const {
  require_bytes(state.name, bytes.size(), state.type);
  if (const StateBuffer* own = program_.find_state(state.name))
    read_pieces(own->type, own->placement, own->place, bytes);
}

void CudaExecutor::read_gradient(const StateBuffer& parameter, std::span<std::byte> bytes) const {
  TESSERA_CHECK(parameter.has_gradient(), "{} has no gradient", parameter.name);
  require_bytes(parameter.name, bytes.size(), parameter.gradient_type);
  if (const StateBuffer* own = program_.find_state(parameter.name))
    read_pieces(own->gradient_type, own->placement, own->gradient, bytes);
}

void CudaExecutor::read_states(int64_t offset, std::span<std::byte> bytes) const {
  from_device(bytes, arena(Lifetime::Persistent) + offset);
}

void CudaExecutor::write_states(int64_t offset, std::span<const std::byte> bytes) {
  to_device(arena(Lifetime::Persistent) + offset, bytes);
}

void CudaExecutor::write_batch(const HostBuffer& input, int microbatch,
                               std::span<const std::byte> bytes) {
  TESSERA_CHECK(microbatch >= 0 && microbatch < program_.microbatches);
  require_bytes(input.name, bytes.size(), input.whole);
  const HostBuffer* own = program_.find_batch_input(input.name);
  if (!own) return;
  batches_.note(*own, microbatch, bytes);
  inputs_copied_.wait();
  const int64_t first = own->offset + microbatch * program_.batch_input_stride;
  const auto index = static_cast<size_t>(own - program_.batch_inputs.data());
  const int64_t pinned_first = input_layout_.batches[index] + microbatch * own->type.bytes();
  const int64_t element_bytes = size_bytes(own->type.dtype);
  for_each_piece(program_, 0, *own, [&](int64_t offset, int64_t element, int64_t count) {
    std::byte* pinned = inputs_.data() + pinned_first + offset;
    const auto size = static_cast<size_t>(count * element_bytes);
    std::memcpy(pinned, bytes.data() + element * element_bytes, size);
    check_cuda(cudaMemcpyAsync(arena(Lifetime::Window) + first + offset, pinned, size,
                               cudaMemcpyHostToDevice, stream_.get()),
               "copy a batch to the GPU");
  });
}

void CudaExecutor::write_step(std::string_view name, double value) {
  const HostBuffer* buffer = program_.find_step_value(name);
  TESSERA_CHECK(buffer, "no step value {}", name);
  inputs_copied_.wait();
  const auto index = static_cast<size_t>(buffer - program_.step_values.data());
  std::byte* pinned = inputs_.data() + input_layout_.steps[index];
  std::memcpy(pinned, &value, sizeof value);
  check_cuda(cudaMemcpyAsync(arena(Lifetime::Window) + buffer->offset, pinned, sizeof value,
                             cudaMemcpyHostToDevice, stream_.get()),
             "copy a step value to the GPU");
}

double CudaExecutor::read_step(std::string_view name) const {
  const HostBuffer* buffer = program_.find_step_value(name);
  TESSERA_CHECK(buffer, "no step value {}", name);
  double value = 0;
  from_device(std::as_writable_bytes(std::span(&value, 1)),
              arena(Lifetime::Window) + buffer->offset);
  return value;
}

void CudaExecutor::read_output(std::span<std::byte> bytes) const {
  require_bytes(program_.output.name, bytes.size(), program_.output.type);
  from_device(bytes, arena(Lifetime::Slot) + program_.output.offset);
}

std::byte* CudaExecutor::address(const ScriptCall& call, const ProgramBlock& block,
                                 int buffer) const {
  const Buffer& declared = program_.class_of(block).buffers[static_cast<size_t>(buffer)];
  const int64_t offset = program_.offset_of(call, buffer);
  TESSERA_CHECK(offset != kNone, "{}: {} is not bound", block.name, declared.name);
  return arena(declared.lifetime) + offset;
}

void CudaExecutor::enqueue(const ScriptCall& call, const ProgramBlock& block,
                           const Instruction& instruction, uint64_t accumulate) {
  const ProgramClass& program_class = program_.class_of(block);
  const auto ref = [&](int buffer) {
    return TensorRef{&program_class.buffers[static_cast<size_t>(buffer)].type,
                     address(call, block, buffer)};
  };
  std::transform(instruction.operands.begin(), instruction.operands.end(), operands_.begin(), ref);
  std::transform(instruction.results.begin(), instruction.results.end(), results_.begin(), ref);
  std::span workspace(arena(Lifetime::Scratch) + instruction.workspace_offset,
                      static_cast<size_t>(instruction.workspace_bytes));
  if (layout_.workspace_bytes > instruction.workspace_bytes)
    workspace = {memory_.data() + layout_.workspace, static_cast<size_t>(layout_.workspace_bytes)};
  try {
    cuda_kernel(instruction.op)(
        {.op = instruction.op,
         .attributes = instruction.attributes,
         .operands = {operands_.data(), instruction.operands.size()},
         .results = {results_.data(), instruction.results.size()},
         .accumulate = accumulate,
         .workspace = workspace,
         .stream = stream_.get(),
         .products = products_,
         .attention = attention_,
         .plain_causal = batches_.plain() && batches_.follows(block, instruction)});
    if (options_.wait_for_each) stream_.wait();
  } catch (const CudaError& error) {
    std::string values;
    for (const int result : instruction.results)
      values += " %" + program_class.buffers[static_cast<size_t>(result)].name;
    throw CudaError(fmt::format("{} of block {}, microbatch {}, making{}: {}", name(instruction.op),
                                block.name, call.microbatch, values, error.what()));
  }
}

void CudaExecutor::run(const ScriptCall& call) {
  const ProgramBlock& block = program_.blocks[static_cast<size_t>(call.block)];
  size_t accumulator = 0;
  for (const Instruction& instruction : program_.class_of(block).routine(call.routine)) {
    uint64_t accumulate = 0;
    for (const int result : instruction.accumulators)
      if (call.accumulate[accumulator++]) accumulate |= uint64_t{1} << result;
    enqueue(call, block, instruction, accumulate);
  }
}

void CudaExecutor::run(const Script& script) {
  for (const ScriptCall& call : script.calls) run(call);
}

void CudaExecutor::run(std::string_view name) {
  inputs_copied_.record(stream_);
  timer_.begin(stream_);
  run_or_launch(program_.script(name));
  timer_.end(stream_);
}

void CudaExecutor::run_or_launch(const Script& script) {
  if (options_.wait_for_each) return run(script);
  Recorded& recorded = recorded_[{script.name, batches_.plain()}];
  if (recorded.runs++ == 0) return run(script);
  if (!recorded.graph.recorded()) recorded.graph.record(stream_, [&] { run(script); });
  recorded.graph.launch(stream_);
}

}  // namespace tessera
