// SPDX-License-Identifier: Apache-2.0
#include "program/program.h"

#include <algorithm>

#include "ir/optimizer.h"

namespace tessera {
namespace {

constexpr std::array<std::string_view, kNumBufferKinds> kBufferKinds{
    "parameters", "gradients", "optimizer", "activations", "inputs", "scratch"};

template <typename Named>
const Named* find(const std::vector<Named>& all, std::string_view wanted) {
  for (const Named& one : all)
    if (one.name == wanted) return &one;
  return nullptr;
}

}  // namespace

std::string_view name(BufferKind kind) { return kBufferKinds.at(static_cast<size_t>(kind)); }

const Script& Program::script(std::string_view script_name) const {
  const Script* found = find(scripts, script_name);
  TESSERA_CHECK(found, "program {} has no script {}", name, script_name);
  return *found;
}

int64_t Program::offset_of(const ScriptCall& call, int buffer) const {
  const ProgramBlock& block = blocks[static_cast<size_t>(call.block)];
  const int64_t offset = block.offsets[static_cast<size_t>(buffer)];
  if (offset == kNone) return kNone;
  const Repeat repeat = block.repeats[static_cast<size_t>(buffer)];
  if (repeat == Repeat::PerMicrobatch) return offset + call.microbatch * batch_input_stride;
  return offset + call.bases[static_cast<size_t>(repeat)];
}

const StateBuffer* HostView::find_state(std::string_view state_name) const {
  return find(states, state_name);
}
const HostBuffer* HostView::find_batch_input(std::string_view input_name) const {
  return find(batch_inputs, input_name);
}
const HostBuffer* HostView::find_step_value(std::string_view value_name) const {
  return find(step_values, value_name);
}

const HostBuffer* HostView::find_load(std::string_view block_name) const {
  return find(loads, block_name);
}

int64_t num_loads(const HostView& program) {
  int64_t experts = 0;
  for (const HostBuffer& load : program.loads) experts += load.type.num_elements();
  return experts;
}

const Program& at_place(std::span<const Program> programs, int rank) {
  const Program& first = programs.front();
  const int place = first.pipeline_axis < 0 ? 0 : first.mesh.coordinate(rank, first.pipeline_axis);
  return programs[static_cast<size_t>(place)];
}

HostView view_of(std::span<const Program> programs) {
  HostView view = programs.front();
  const auto merge = [](auto& all, const auto& more) {
    for (const auto& one : more)
      if (!find(all, one.name)) all.push_back(one);
  };
  for (const Program& program : programs.subspan(1)) {
    merge(view.states, program.states);
    merge(view.batch_inputs, program.batch_inputs);
    merge(view.step_values, program.step_values);
    merge(view.loads, program.loads);
  }
  view.output = programs.back().output;
  return view;
}

const std::string& group_name(const Instruction& instruction, const ScriptCall& call,
                              const Program& program) {
  if (const auto* collective = instruction.as<CollectiveInstruction>())
    return program.group_of(*collective).name;
  return program.channels.at(static_cast<size_t>(call.channel)).name;
}

MemorySpace space_of(const Instruction& instruction, const ProgramClass& program_class) {
  const auto* kernel = instruction.as<KernelInstruction>();
  if (!kernel || !is_update(kernel->op)) return MemorySpace::Device;
  return program_class.buffers[static_cast<size_t>(kernel->results.front())].space;
}

bool has_peers(const Instruction& instruction, const Program& program) {
  const auto* collective = instruction.as<CollectiveInstruction>();
  return collective ? program.group_of(*collective).size > 1 : communicates(instruction);
}

bool crosses_stages(const Instruction& instruction, const Program& program) {
  if (const auto* collective = instruction.as<CollectiveInstruction>())
    return program.pipeline_axis >= 0 && program.group_of(*collective).spans(program.pipeline_axis);
  return communicates(instruction);
}

int gathers_per_step(const Program& program) {
  if (program.pipeline_axis < 0) return 0;
  std::vector<int> gathers(program.blocks.size());
  // The step's script, or evaluate's where nothing is trained.
  for (const ScriptCall& call : program.scripts.front().calls)
    if (call.routine == RoutineKind::Gather) ++gathers[static_cast<size_t>(call.block)];
  return gathers.empty() ? 0 : *std::max_element(gathers.begin(), gathers.end());
}

std::string gathers_text(const Program& program) {
  const int gathers = gathers_per_step(program);
  if (gathers == 0) return "";
  return fmt::format("a block's weights are gathered at most {} times a step, once for each {}",
                     gathers,
                     program.holds_runs ? "run of microbatches on it"
                                        : "microbatch and direction: whole runs do not fit");
}

}  // namespace tessera
