// SPDX-License-Identifier: Apache-2.0
// Persistent: states in block order. Window: rank and step values, batch inputs of all
// microbatches, gradients, the stream's gradients, what is prepared, and what comes and goes. Slot:
// each stage's kept activations, by microbatch. Inputs are bound by name, streams along the chain.
#include "compiler/arena_layout.h"

#include <algorithm>
#include <map>
#include <set>

#include "compiler/microbatch_layout.h"
#include "compiler/state_layout.h"
#include "ir/op_def.h"

namespace tessera {
namespace {

class ArenaLayout {
 public:
  ArenaLayout(const Module& module, Program& program) : module_(module), program_(program) {}

  void run() {
    lay_out_rank_values();
    lay_out_step_values();
    lay_out_batch_inputs();
    states_.lay_out();
    lay_out_prepared();
    lay_out_stages();
    lay_out_stream_gradients();
    for (int block = 0; block < num_blocks(); ++block) bind(block);
    lay_out_scratch();
    bind_microbatches();
    bind_output();
  }

 private:
  int num_blocks() const { return static_cast<int>(module_.blocks.size()); }
  const BlockClass& class_of(int block) const {
    return module_.class_of(module_.blocks[static_cast<size_t>(block)]);
  }
  std::string full_name(int block, std::string_view state) const {
    return module_.state_name(module_.blocks[static_cast<size_t>(block)], state);
  }

  void lay_out_rank_values() {
    for (const BlockClass& block_class : module_.classes)
      for (const GraphInput& input : block_class.graph.inputs()) {
        if (input.kind != InputKind::Rank) continue;
        const std::string& word = block_class.graph.value(input.value).name;
        if (rank_values_.contains(word)) continue;
        rank_values_[word] = take(program_.window_bytes, size_bytes(DType::Int32));
        program_.rank_values.push_back(
            {.axes = program_.mesh.parse_word(word), .offset = rank_values_[word]});
      }
  }

  void add_host_buffer(std::vector<HostBuffer>& buffers, HostBuffer wanted, int64_t& arena) {
    for (const HostBuffer& known : buffers)
      if (known.name == wanted.name) {
        if (known.type != wanted.type)
          throw user_error("two blocks read {} as {} and as {}", wanted.name, to_string(known.type),
                           to_string(wanted.type));
        return;
      }
    wanted.offset = take(arena, wanted.type.bytes());
    buffers.push_back(std::move(wanted));
  }

  void lay_out_step_values() {
    const int64_t before = program_.window_bytes;
    const auto add = [&](const std::string& step, const TensorType& type) {
      add_host_buffer(program_.step_values, {.name = step, .type = type, .whole = type},
                      program_.window_bytes);
    };
    for (const BlockClass& block_class : module_.classes) {
      for (const GraphInput& input : block_class.graph.inputs())
        if (input.kind == InputKind::Step)
          add(block_class.graph.value(input.value).name, block_class.graph.value(input.value).type);
      for (const GraphOutput& output : block_class.graph.outputs())
        if (output.kind == OutputKind::Step)
          add(output.target, block_class.graph.value(output.value).type);
    }
    count(program_, BufferKind::Input, program_.window_bytes - before);
  }

  void lay_out_batch_inputs() {
    int64_t bytes = 0;
    for (const BlockClass& block_class : module_.classes)
      for (const GraphInput& input : block_class.graph.inputs()) {
        if (input.kind != InputKind::Batch) continue;
        const Value& value = block_class.graph.value(input.value);
        HostBuffer wanted{.name = value.name, .type = value.type, .whole = value.type};
        if (!input.whole.empty()) wanted.whole.dims = input.whole;
        wanted.placement = value.placement;
        add_host_buffer(program_.batch_inputs, std::move(wanted), bytes);
      }
    for (HostBuffer& input : program_.batch_inputs) input.offset += program_.window_bytes;
    program_.batch_input_stride = bytes;
    program_.window_bytes += bytes * program_.microbatches;
    count(program_, BufferKind::Input, bytes * program_.microbatches);
  }

  // Of parameters: other copies of them.
  void lay_out_prepared() {
    for (int block = 0; block < num_blocks(); ++block) {
      const int64_t bytes = class_of(block).prepared_bytes;
      prepared_base_.push_back(take(program_.window_bytes, bytes));
      count(program_, BufferKind::Parameter, bytes);
    }
  }

  int stage_of(int block) const { return module_.blocks[static_cast<size_t>(block)].stage; }
  bool begins_stage(int block) const {
    return block == 0 || stage_of(block - 1) != stage_of(block);
  }
  bool ends_stage(int block) const {
    return block + 1 == num_blocks() || stage_of(block + 1) != stage_of(block);
  }

  static int64_t bytes_of_input(const Graph& graph, InputKind kind) {
    for (const GraphInput& input : graph.inputs())
      if (input.kind == kind) return align_up(graph.value(input.value).type.bytes());
    return 0;
  }

  int segment_of(int block) const { return program_.blocks[static_cast<size_t>(block)].segment; }
  bool begins_segment(int block) const {
    return block == 0 || segment_of(block - 1) != segment_of(block);
  }
  bool ends_segment(int block) const {
    return block + 1 == num_blocks() || segment_of(block + 1) != segment_of(block);
  }
  // The stream that leaves this block goes to another stage, and is done with once it is sent.
  bool leaves_stage(int block) const { return module_.stages > 1 && ends_stage(block); }
  // It outlives what its segment keeps.
  bool leaves_checkpoint(int block) const {
    return recomputes() && ends_segment(block) && !leaves_stage(block);
  }
  bool recomputes() const { return program_.recomputes; }

  int64_t stream_bytes(int block) const {
    const Graph& graph = class_of(block).graph;
    const GraphOutput* stream = graph.find_output(OutputKind::Stream);
    return stream ? align_up(graph.value(stream->value).type.bytes()) : 0;
  }
  // A stream that lies elsewhere leaves its place, the first in the slot, to what comes next.
  void take_slot(int block, int64_t& segment) {
    const bool elsewhere = leaves_stage(block) || leaves_checkpoint(block);
    const int64_t moved = elsewhere ? stream_bytes(block) : 0;
    slot_base_[static_cast<size_t>(block)] =
        take(segment, class_of(block).slot_bytes - moved) - moved;
  }

  // What one microbatch takes in each stage and segment; each block's place in it.
  void lay_out_stages() {
    slot_base_.resize(module_.blocks.size());
    gradient_base_.resize(module_.blocks.size());
    checkpoint_base_.resize(module_.blocks.size());
    std::map<int, int64_t> segments;
    for (int block = 0; block < num_blocks(); ++block) {
      if (stage_of(block) == kEveryStage) continue;
      const auto at = static_cast<size_t>(block);
      const Graph& graph = class_of(block).graph;
      StageBytes& stage = microbatches_.stages[stage_of(block)];
      take_slot(block, segments[segment_of(block)]);
      if (begins_stage(block))
        stage.stream_in = stage.gradient_out = bytes_of_input(graph, InputKind::Stream);
      const int64_t gradient = bytes_of_input(graph, InputKind::OutputGradient);
      if (ends_stage(block))
        stage.gradient_in = gradient;
      else if (module_.split_backward)
        gradient_base_[at] = take(stage.inner_gradients, gradient);
      if (leaves_stage(block)) stage.stream_out = stream_bytes(block);
      if (leaves_checkpoint(block))
        checkpoint_base_[at] = take(stage.checkpoints, stream_bytes(block));
    }
  }

  // Between blocks of a stage, where both gradients run at once, two buffers take turns.
  void lay_out_stream_gradients() {
    std::array<int64_t, 2> bytes{};
    for (int edge = 0; edge < num_blocks() && !module_.split_backward; ++edge)
      if (!ends_stage(edge)) {
        int64_t& turn = bytes[static_cast<size_t>(edge & 1)];
        turn = std::max(turn, bytes_of_input(class_of(edge).graph, InputKind::OutputGradient));
      }
    for (size_t turn = 0; turn < bytes.size(); ++turn) {
      stream_gradient_[turn] = take(program_.window_bytes, bytes[turn]);
      count(program_, BufferKind::Activation, bytes[turn]);
    }
  }

  // As much as the routines take that this rank's scripts call; other stages' may take more.
  void lay_out_scratch() {
    std::set<std::pair<int, RoutineKind>> seen;
    const auto most_of = [&](MemorySpace space) -> int64_t& {
      return space == MemorySpace::Host ? program_.host_scratch_bytes : program_.scratch_bytes;
    };
    int64_t& most = program_.scratch_bytes;
    for (const Script& script : program_.scripts)
      for (const ScriptCall& call : script.calls) {
        const ProgramBlock& block = program_.blocks[static_cast<size_t>(call.block)];
        if (!seen.emplace(block.class_index, call.routine).second) continue;
        const ProgramClass& program_class = program_.class_of(block);
        for (const Instruction& instruction : program_class.routine(call.routine)) {
          most = std::max(most, instruction.workspace_offset + instruction.workspace_bytes);
          for (const int result : writes(instruction)) {
            const Buffer& buffer = program_class.buffers[static_cast<size_t>(result)];
            if (buffer.lifetime != Lifetime::Scratch) continue;
            int64_t& reach = most_of(buffer.space);
            reach =
                std::max(reach, block.offsets[static_cast<size_t>(result)] + buffer.type.bytes());
          }
        }
      }
    most = align_up(most);
    program_.host_scratch_bytes = align_up(program_.host_scratch_bytes);
    count(program_, BufferKind::Scratch, most);
  }

  void bind_microbatches() {
    microbatches_.recomputes = recomputes();
    microbatches_.window_begin = program_.window_bytes;
    const MicrobatchBytes bytes = lay_out_microbatches(microbatches_, program_);
    program_.slot_bytes = bytes.slot;
    program_.host_slot_bytes = bytes.host_slot;
    program_.window_bytes += bytes.window;
    count(program_, BufferKind::Activation, bytes.slot + bytes.window);
  }

  // The gradient of the stream between block i and block i + 1.
  int64_t stream_gradient(int edge, Repeat& repeat) const {
    if (edge < 0) return kNone;
    if (ends_stage(edge)) return 0;  // in a buffer of its own, as a call binds it
    if (!module_.split_backward) return stream_gradient_[static_cast<size_t>(edge & 1)];
    repeat = Repeat::InnerGradients;
    return gradient_base_[static_cast<size_t>(edge)];
  }

  void bind(int block) {
    const Graph& graph = class_of(block).graph;
    std::vector<int64_t>& offsets = program_.blocks[static_cast<size_t>(block)].offsets;
    std::vector<Repeat>& repeats = program_.blocks[static_cast<size_t>(block)].repeats;
    repeats.assign(static_cast<size_t>(graph.num_values()), Repeat::Once);
    for (ValueId id = 0; id < graph.num_values(); ++id) {
      const Location& location = graph.value(id).location;
      int64_t offset = kNone;
      if (location.lifetime == Lifetime::Scratch) offset = location.offset;
      if (location.lifetime == Lifetime::Prepared)
        offset = prepared_base_[static_cast<size_t>(block)] + location.offset;
      if (location.lifetime == Lifetime::Slot) {
        offset = slot_base_[static_cast<size_t>(block)] + location.offset;
        repeats[static_cast<size_t>(id)] = Repeat::PerSlot;
      }
      if (location.lifetime == Lifetime::Away) {
        offset = location.offset;
        repeats[static_cast<size_t>(id)] =
            graph.value(id).space == MemorySpace::Host ? Repeat::AwayInHost : Repeat::Away;
      }
      offsets.push_back(offset);
    }
    for (const GraphInput& input : graph.inputs())
      offsets[static_cast<size_t>(input.value)] =
          offset_of_input(block, input, repeats[static_cast<size_t>(input.value)]);
    for (const GraphOutput& output : graph.outputs())
      offsets[static_cast<size_t>(output.value)] =
          offset_of_output(block, output, repeats[static_cast<size_t>(output.value)]);
    for (const Node& node : graph.nodes())
      if (op_def(node.op).aliases) {
        const auto from = static_cast<size_t>(node.operands[0]),
                   to = static_cast<size_t>(node.results[0]);
        offsets[from] = offsets[to];
        repeats[from] = repeats[to];
      }
  }

  int64_t offset_of_input(int block, const GraphInput& input, Repeat& repeat) {
    const Value& value = class_of(block).graph.value(input.value);
    switch (input.kind) {
      case InputKind::State:
        return states_.offset_of(block, value.name, FlatRole::Weights);
      case InputKind::Flat:
        return states_.offset_of_flat(block, value.name);
      case InputKind::Rank:
        return rank_values_.at(value.name);
      case InputKind::Batch:
        repeat = Repeat::PerMicrobatch;
        return program_.find_batch_input(value.name)->offset;
      case InputKind::Step:
        return program_.find_step_value(value.name)->offset;
      case InputKind::OutputGradient:
        if (ends_stage(block)) repeat = Repeat::GradientIn;
        return stream_gradient(block, repeat);
      case InputKind::Stream:
        repeat = begins_stage(block)            ? Repeat::StreamIn
                 : leaves_checkpoint(block - 1) ? Repeat::Checkpoint
                                                : Repeat::PerSlot;
        return begins_stage(block) ? 0 : stream_offset(block - 1);
    }
    check_failed("input kind", __FILE__, __LINE__, "");
  }

  int64_t offset_of_output(int block, const GraphOutput& output, Repeat& repeat) {
    switch (output.kind) {
      case OutputKind::State:
        return program_.find_state(full_name(block, output.target))->place.offset;
      case OutputKind::Flat:
        return states_.offset_of_flat(block, output.target);
      case OutputKind::Gradient:
        return states_.offset_of(block, output.target, FlatRole::Gradient);
      case OutputKind::Step:
        return program_.find_step_value(output.target)->offset;
      case OutputKind::InputGradient:
        if (begins_stage(block)) {
          repeat = Repeat::GradientOut;
          return 0;
        }
        return stream_gradient(block - 1, repeat);
      case OutputKind::Stream:
        if (leaves_stage(block)) repeat = Repeat::StreamOut;
        if (leaves_checkpoint(block)) repeat = Repeat::Checkpoint;
        return stream_offset(block);
    }
    check_failed("output kind", __FILE__, __LINE__, "");
  }

  // Where block `index` leaves the stream it returns.
  int64_t stream_offset(int index) const {
    if (leaves_stage(index)) return 0;  // in a buffer of its own, as a call binds it
    if (leaves_checkpoint(index)) return checkpoint_base_[static_cast<size_t>(index)];
    const Graph& graph = class_of(index).graph;
    const GraphOutput* stream = graph.find_output(OutputKind::Stream);
    return slot_base_[static_cast<size_t>(index)] + graph.value(stream->value).location.offset;
  }

  void bind_output() {
    const Graph& graph = class_of(num_blocks() - 1).graph;
    const GraphOutput* stream = graph.find_output(OutputKind::Stream);
    if (!stream || module_.stages > 1) return;
    const Value& value = graph.value(stream->value);
    program_.output = {.name = value.name,
                       .type = value.type,
                       .offset = stream_offset(num_blocks() - 1),
                       .whole = value.type,
                       .placement = value.placement};
    // Padded where a size does not divide.
    for (Dim& dim : program_.output.whole.dims)
      dim.size *= module_.mesh.size(shard_axes(value.placement, dim.name));
  }

  const Module& module_;
  Program& program_;
  std::map<std::string, int64_t> rank_values_;
  StateLayout states_{module_, program_};
  LayoutRequest microbatches_;
  std::vector<int64_t> slot_base_, gradient_base_, checkpoint_base_, prepared_base_;  // by block
  std::array<int64_t, 2> stream_gradient_{};
};

}  // namespace

void lay_out_arenas(const Module& module, Program& program) { ArenaLayout(module, program).run(); }

}  // namespace tessera
