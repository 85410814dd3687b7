// SPDX-License-Identifier: Apache-2.0
#include "program/program.h"

namespace tessera {
namespace {

constexpr std::array<std::string_view, kNumBufferKinds> kBufferKinds{
    "parameters", "gradients", "optimizer", "activations", "inputs", "scratch"};
constexpr std::array<std::string_view, kNumRoutineKinds> kRoutineKinds{
    "gather", "await",  "begin",  "count", "forward", "evaluate", "backward",
    "reduce", "settle", "report", "norm",  "total",   "update"};

template <typename Named>
const Named* find(const std::vector<Named>& all, std::string_view wanted) {
  for (const Named& one : all)
    if (one.name == wanted) return &one;
  return nullptr;
}

}  // namespace

std::string_view name(BufferKind kind) { return kBufferKinds.at(static_cast<size_t>(kind)); }
std::string_view name(RoutineKind kind) { return kRoutineKinds.at(static_cast<size_t>(kind)); }

const Script& Program::script(std::string_view script_name) const {
  const Script* found = find(scripts, script_name);
  TESSERA_CHECK(found, "program {} has no script {}", name, script_name);
  return *found;
}

const StateBuffer* Program::find_state(std::string_view state_name) const {
  return find(states, state_name);
}
const HostBuffer* Program::find_batch_input(std::string_view input_name) const {
  return find(batch_inputs, input_name);
}
const HostBuffer* Program::find_step_value(std::string_view value_name) const {
  return find(step_values, value_name);
}

}  // namespace tessera
