// SPDX-License-Identifier: Apache-2.0
// Persistent: states in block order. Window: step values, batch inputs of all microbatches,
// gradients, and two buffers that the stream's gradient alternates between. Slot: each block's kept
// activations. Inputs are bound by name, streams along the chain.
#include "compiler/arena_layout.h"

#include <algorithm>

namespace tessera {
namespace {

class ArenaLayout {
 public:
  ArenaLayout(const Module& module, Program& program) : module_(module), program_(program) {}

  void run() {
    lay_out_states();
    lay_out_step_values();
    lay_out_batch_inputs();
    lay_out_gradients();
    lay_out_stream_gradients();
    lay_out_slots();
    program_.scratch_bytes = module_.scratch_bytes;
    count(BufferKind::Scratch, module_.scratch_bytes);
    for (const Block& block : module_.blocks) bind(block);
    bind_output();
  }

 private:
  void count(BufferKind kind, int64_t bytes) {
    program_.bytes_by_kind[static_cast<size_t>(kind)] += bytes;
  }

  static int64_t take(int64_t& arena, int64_t bytes) {
    const int64_t offset = arena;
    arena += align_up(bytes);
    return offset;
  }

  void lay_out_states() {
    for (const Block& block : module_.blocks)
      for (const GraphInput& input : module_.class_of(block).graph.inputs()) {
        if (!input.state || input.state->tied) continue;
        const Value& value = module_.class_of(block).graph.value(input.value);
        const bool weights = input.state->role == StateRole::Parameter;
        program_.states.push_back({.name = module_.state_name(block, value.name),
                                   .type = value.type,
                                   .spec = *input.state,
                                   .offset = take(program_.persistent_bytes, value.type.bytes()),
                                   .gradient_offset = kNone,
                                   .gradient_type = {}});
        StateBuffer& state = program_.states.back();
        if (!weights) state.spec.parameter = module_.state_name(block, input.state->parameter);
        count(weights ? BufferKind::Parameter : BufferKind::Optimizer,
              align_up(value.type.bytes()));
      }
  }

  void add_host_buffer(std::vector<HostBuffer>& buffers, const std::string& wanted,
                       const TensorType& type, int64_t& arena) {
    for (const HostBuffer& known : buffers)
      if (known.name == wanted) {
        if (known.type != type)
          throw user_error("two blocks read {} as {} and as {}", wanted, to_string(known.type),
                           to_string(type));
        return;
      }
    buffers.push_back({.name = wanted, .type = type, .offset = take(arena, type.bytes())});
  }

  void lay_out_step_values() {
    for (const BlockClass& block_class : module_.classes) {
      for (const GraphInput& input : block_class.graph.inputs())
        if (input.kind == InputKind::Step)
          add_host_buffer(program_.step_values, block_class.graph.value(input.value).name,
                          block_class.graph.value(input.value).type, program_.window_bytes);
      for (const GraphOutput& output : block_class.graph.outputs())
        if (output.kind == OutputKind::Step)
          add_host_buffer(program_.step_values, output.target,
                          block_class.graph.value(output.value).type, program_.window_bytes);
    }
    count(BufferKind::Input, program_.window_bytes);
  }

  void lay_out_batch_inputs() {
    int64_t bytes = 0;
    for (const BlockClass& block_class : module_.classes)
      for (const GraphInput& input : block_class.graph.inputs())
        if (input.kind == InputKind::Batch)
          add_host_buffer(program_.batch_inputs, block_class.graph.value(input.value).name,
                          block_class.graph.value(input.value).type, bytes);
    for (HostBuffer& input : program_.batch_inputs) input.offset += program_.window_bytes;
    program_.batch_input_stride = bytes;
    program_.window_bytes += bytes * program_.microbatches;
    count(BufferKind::Input, bytes * program_.microbatches);
  }

  StateBuffer& state(const std::string& state_name) {
    const auto found =
        std::find_if(program_.states.begin(), program_.states.end(),
                     [&](const StateBuffer& candidate) { return candidate.name == state_name; });
    TESSERA_CHECK(found != program_.states.end(), "no state {}", state_name);
    return *found;
  }

  void lay_out_gradients() {
    for (const Block& block : module_.blocks) {
      const Graph& graph = module_.class_of(block).graph;
      for (const GraphOutput& output : graph.outputs()) {
        if (output.kind != OutputKind::Gradient) continue;
        StateBuffer& parameter = state(module_.state_name(block, output.target));
        if (parameter.gradient_offset != kNone) continue;
        parameter.gradient_type = graph.value(output.value).type;
        parameter.gradient_offset = take(program_.window_bytes, parameter.gradient_type.bytes());
        count(BufferKind::Gradient, align_up(parameter.gradient_type.bytes()));
      }
    }
  }

  void lay_out_stream_gradients() {
    int64_t bytes = 0;
    for (const BlockClass& block_class : module_.classes)
      for (const GraphInput& input : block_class.graph.inputs())
        if (input.kind == InputKind::OutputGradient)
          bytes = std::max(bytes, block_class.graph.value(input.value).type.bytes());
    for (int64_t& offset : stream_gradient_) offset = take(program_.window_bytes, bytes);
    count(BufferKind::Activation, 2 * align_up(bytes));
  }

  void lay_out_slots() {
    for (const Block& block : module_.blocks)
      slot_base_.push_back(take(program_.slot_bytes, module_.class_of(block).slot_bytes));
    count(BufferKind::Activation, program_.slots * program_.slot_bytes);
  }

  // The gradient of the stream between block i and block i + 1.
  int64_t stream_gradient(int edge) const {
    return stream_gradient_[static_cast<size_t>(edge & 1)];
  }

  void bind(const Block& block) {
    const auto index = static_cast<int>(program_.blocks.size());
    const Graph& graph = module_.class_of(block).graph;
    ProgramBlock bound{.name = block.name, .class_index = block.class_index, .offsets = {}};
    for (ValueId id = 0; id < graph.num_values(); ++id) {
      const Location& location = graph.value(id).location;
      int64_t offset = kNone;
      if (location.lifetime == Lifetime::Scratch) offset = location.offset;
      if (location.lifetime == Lifetime::Slot)
        offset = slot_base_[static_cast<size_t>(index)] + location.offset;
      bound.offsets.push_back(offset);
    }
    for (const GraphInput& input : graph.inputs())
      bound.offsets[static_cast<size_t>(input.value)] = offset_of_input(block, index, input);
    for (const GraphOutput& output : graph.outputs())
      if (output.kind != OutputKind::Stream)
        bound.offsets[static_cast<size_t>(output.value)] = offset_of_output(block, index, output);
    program_.blocks.push_back(std::move(bound));
  }

  int64_t offset_of_input(const Block& block, int index, const GraphInput& input) {
    const Value& value = module_.class_of(block).graph.value(input.value);
    switch (input.kind) {
      case InputKind::State:
        return state(module_.state_name(block, value.name)).offset;
      case InputKind::Batch:
        return program_.find_batch_input(value.name)->offset;
      case InputKind::Step:
        return program_.find_step_value(value.name)->offset;
      case InputKind::OutputGradient:
        return stream_gradient(index);
      case InputKind::Stream:
        return stream_offset(index - 1);
    }
    check_failed("input kind", __FILE__, __LINE__, "");
  }

  int64_t offset_of_output(const Block& block, int index, const GraphOutput& output) {
    switch (output.kind) {
      case OutputKind::State:
        return state(module_.state_name(block, output.target)).offset;
      case OutputKind::Gradient:
        return state(module_.state_name(block, output.target)).gradient_offset;
      case OutputKind::Step:
        return program_.find_step_value(output.target)->offset;
      case OutputKind::InputGradient:
        return stream_gradient(index - 1);
      case OutputKind::Stream:
        break;
    }
    check_failed("output kind", __FILE__, __LINE__, "");
  }

  // Where block `index` leaves the stream it returns.
  int64_t stream_offset(int index) const {
    const Graph& graph = module_.class_of(module_.blocks[static_cast<size_t>(index)]).graph;
    const GraphOutput* stream = graph.find_output(OutputKind::Stream);
    return slot_base_[static_cast<size_t>(index)] + graph.value(stream->value).location.offset;
  }

  void bind_output() {
    const Graph& graph = module_.class_of(module_.blocks.back()).graph;
    const GraphOutput* stream = graph.find_output(OutputKind::Stream);
    if (!stream) return;
    program_.output = {.name = graph.value(stream->value).name,
                       .type = graph.value(stream->value).type,
                       .offset = stream_offset(static_cast<int>(module_.blocks.size()) - 1)};
  }

  const Module& module_;
  Program& program_;
  std::vector<int64_t> slot_base_;
  std::array<int64_t, 2> stream_gradient_{};
};

}  // namespace

void lay_out_arenas(const Module& module, Program& program) { ArenaLayout(module, program).run(); }

}  // namespace tessera
