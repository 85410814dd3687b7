// SPDX-License-Identifier: Apache-2.0
// The contract between compiler and machines: what one class of ranks does in a step. Instructions
// are stored once per block class; a script call binds them to a block and a microbatch. Nothing is
// allocated while a script runs: all bytes are in arenas of known size, four on the device and
// three on the host.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"
#include "mesh/group.h"
#include "program/instruction.h"

namespace tessera {

enum class BufferKind : uint8_t { Parameter, Gradient, Optimizer, Activation, Input, Scratch };
inline constexpr int kNumBufferKinds = 6;
std::string_view name(BufferKind kind);

// What is added to a buffer's offset at a call: nothing; one of the bases that the script call
// binds (see ScriptCall); a stride for each microbatch.
enum class Repeat : uint8_t {
  Once,
  PerSlot,
  StreamIn,
  StreamOut,
  GradientIn,
  GradientOut,
  InnerGradients,
  Checkpoint,
  Away,
  AwayInHost,
  PerMicrobatch
};
inline constexpr int kNumRepeats = 11;

// A buffer as a block class sees it; each block gives it an offset in the arena of its memory space
// and lifetime. The host has three: of what persists, of slots and of scratch.
struct Buffer {
  std::string name;
  TensorType type;
  Lifetime lifetime = Lifetime::None;
  MemorySpace space = MemorySpace::Device;
  int64_t rank_stride =
      0;  // bytes between the parts of two neighbouring ranks, along the axes below
  AxisIds rank_axes = {};
};

struct ProgramClass {
  std::string name;
  std::vector<Buffer> buffers;
  std::array<std::vector<Instruction>, kNumRoutineKinds> routines;

  const std::vector<Instruction>& routine(RoutineKind kind) const {
    return routines[static_cast<size_t>(kind)];
  }
  std::vector<Instruction>& routine(RoutineKind kind) {
    return routines[static_cast<size_t>(kind)];
  }
};

struct ProgramBlock {
  std::string name;
  int class_index = 0;
  int stage = 0;
  int segment = 0;  // blocks of one segment keep, or recompute, their activations together
  std::vector<int64_t> offsets;  // by buffer of the class; kNone where nothing is bound
  std::vector<Repeat> repeats;   // by buffer of the class
};

// Runs one routine of one block for one microbatch.
struct ScriptCall {
  RoutineKind routine;
  int block = 0;
  int microbatch = 0;
  bool first = true, last = true;  // of the step's microbatches
  std::vector<bool>
      accumulate;  // by accumulator write of the routine, in order: add instead of write
  // By Repeat, in bytes. Slot arena: what the segment keeps, the stream from the stage before and
  // to the next one, the streams between segments, what a block keeps on the host, on either side.
  // Window arena: the gradients that come into the stage, that go out of it and, where the backward
  // is split, those between its blocks.
  std::array<int64_t, kNumRepeats> bases = {};
  int channel = -1;  // of Program::channels, that a call between stages goes through
};

struct Script {
  std::string name;
  std::vector<ScriptCall> calls;
};

// Where a rank keeps its elements of a tensor: from `begin` on in a flat buffer. With shard axes
// the buffer is cut into equal parts, and the rank holds the one of its index along these axes.
struct FlatPlace {
  Lifetime lifetime = Lifetime::None;  // None: nowhere
  MemorySpace space = MemorySpace::Device;
  int64_t offset = 0;          // of what the rank holds, in bytes of its arena
  int64_t begin = 0;           // in elements of the whole flat buffer
  AxisIds shard_axes = {};     // empty: it holds the whole buffer
  int64_t shard_elements = 0;  // of one part
  bool in_whole = false;  // the whole buffer is at `offset`, and the part at its own place in it
};

// A state and its gradient, by full name ("layer.3.wq").
struct StateBuffer {
  std::string name;
  TensorType type;  // of the whole tensor, over all ranks
  StateSpec spec;
  Placement placement = {};  // in use; empty: whole on every rank
  FlatPlace place = {};
  TensorType gradient_type = {};  // of the whole tensor
  FlatPlace gradient = {};

  bool has_gradient() const { return gradient.lifetime != Lifetime::None; }
};

// What the host writes before, or reads after, a script: batch inputs (one per microbatch) and step
// values.
struct HostBuffer {
  std::string name;
  TensorType type;           // of one rank
  int64_t offset = 0;        // in the window arena
  TensorType whole = {};     // over all ranks
  Placement placement = {};  // empty: whole on every rank
};

// The rank's index among those along `axes`, int32[] in the window arena; written once.
struct RankValue {
  AxisIds axes;
  int64_t offset = 0;
};

// One edge between two stages, in one direction; pipeline coordinates of its ends.
struct StageChannel {
  std::string name;  // "stream 0>1", "gradient 1>0"
  int from = 0, to = 0;
};

// What the host sees of a program: tensors by name, whole, whichever ranks hold them.
struct HostView {
  std::string name;
  int microbatches = 1;
  Mesh mesh;
  int zigzag = 1;  // over 1: the sequence of batch inputs is permuted for a ring of this many ranks
  std::vector<StateBuffer> states;
  std::vector<HostBuffer> batch_inputs, step_values;
  std::vector<HostBuffer> loads;  // how often each expert of a block was chosen, by block name
  // The stream that the last block returns (slot arena), padded to what its ranks hold together;
  // empty name: none.
  HostBuffer output;

  const StateBuffer* find_state(std::string_view state_name) const;
  const HostBuffer* find_batch_input(std::string_view input_name) const;
  const HostBuffer* find_step_value(std::string_view value_name) const;
  const HostBuffer* find_load(std::string_view block_name) const;
};

// Experts of all routers together.
int64_t num_loads(const HostView& program);

struct Program : HostView {
  int threads = 1;  // of a rank, at most: workspaces have room for them
  int pipeline_axis = -1;
  bool recomputes = false;    // segments run their forward again before their backward
  bool holds_runs = true;     // gathered weights stay for a run of microbatches on their block
  std::vector<Group> groups;  // in an order that all ranks share
  std::vector<ProgramClass> classes;
  std::vector<ProgramBlock> blocks;
  std::vector<Script> scripts;
  std::vector<RankValue> rank_values;
  std::vector<StageChannel> channels;  // in an order that all ranks share

  int64_t persistent_bytes = 0, window_bytes = 0, slot_bytes = 0, scratch_bytes = 0;
  int64_t host_persistent_bytes = 0, host_slot_bytes = 0, host_scratch_bytes = 0;
  int64_t batch_input_stride = 0;  // from one microbatch's batch inputs to the next one's
  std::array<int64_t, kNumBufferKinds> bytes_by_kind{};

  int64_t peak_bytes() const {  // of the device
    return persistent_bytes + window_bytes + slot_bytes + scratch_bytes;
  }
  int64_t host_bytes() const {
    return host_persistent_bytes + host_slot_bytes + host_scratch_bytes;
  }
  int64_t bytes(BufferKind kind) const { return bytes_by_kind[static_cast<size_t>(kind)]; }
  const ProgramClass& class_of(const ProgramBlock& block) const {
    return classes[static_cast<size_t>(block.class_index)];
  }
  const Group& group_of(const CollectiveInstruction& collective) const {
    return groups[static_cast<size_t>(collective.group)];
  }
  // Where a call finds a buffer of its block, in the buffer's arena; kNone: nowhere.
  int64_t offset_of(const ScriptCall& call, int buffer) const;
  const Script& script(std::string_view script_name) const;
};

// One view of all programs of a pipeline, by place along it: each tensor once.
HostView view_of(std::span<const Program> programs);
// The program that a rank runs.
const Program& at_place(std::span<const Program> programs, int rank);

// The name of the group, or of the channel between stages, that an instruction communicates over.
const std::string& group_name(const Instruction& instruction, const ScriptCall& call,
                              const Program& program);
// Where a kernel runs: where what it writes lies. Only optimizers run on the host.
MemorySpace space_of(const Instruction& instruction, const ProgramClass& program_class);
// Whether it communicates with other ranks: not in a group of one.
bool has_peers(const Instruction& instruction, const Program& program);
// Whether ranks of another stage take part, which may run another program.
bool crosses_stages(const Instruction& instruction, const Program& program);

// How often a pipeline gathers a block's weights; 0: nothing is gathered, or there is no pipeline.
int gathers_per_step(const Program& program);
// The same in words; empty: 0.
std::string gathers_text(const Program& program);

std::string print(const Program& program);

}  // namespace tessera
