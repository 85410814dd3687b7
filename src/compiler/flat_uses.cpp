// SPDX-License-Identifier: Apache-2.0
#include "compiler/flat_uses.h"

#include <algorithm>
#include <set>

namespace tessera {

bool reduces_every_microbatch(const BlockClass& block_class, const Bundle& bundle) {
  return find_flat(block_class, bundle.name, FlatRole::GradientShard) != nullptr;
}

bool reduces_every_microbatch(const BlockClass& block_class) {
  return std::any_of(
      block_class.bundles.begin(), block_class.bundles.end(),
      [&](const Bundle& bundle) { return reduces_every_microbatch(block_class, bundle); });
}

namespace {

std::vector<int> weights_read_by(const Module& module, const Program& program,
                                 const ScriptCall& call) {
  std::set<int> owners;
  const Block& block = module.blocks[static_cast<size_t>(call.block)];
  const Graph& graph = module.class_of(block).graph;
  for (const Instruction& instruction :
       program.classes[static_cast<size_t>(block.class_index)].routine(call.routine))
    for (const int operand : reads(instruction)) {
      const GraphInput* input = graph.input_of(operand);
      if (!input || input->kind != InputKind::State) continue;
      const Owner owner = owner_of(module, call.block, graph.value(operand).name);
      if (find_bundle(module.class_of(module.blocks[static_cast<size_t>(owner.block)]),
                      owner.parameter))
        owners.insert(owner.block);
    }
  return {owners.begin(), owners.end()};
}

std::vector<int> gradients_written_by(const Module& module, const Program& program,
                                      const ScriptCall& call) {
  std::set<int> owners;
  const Block& block = module.blocks[static_cast<size_t>(call.block)];
  const Graph& graph = module.class_of(block).graph;
  if (side(call.routine) != StepSide::Backward) return {};
  for (const Instruction& instruction :
       program.classes[static_cast<size_t>(block.class_index)].routine(call.routine))
    for (const GraphOutput& output : graph.outputs())
      if (output.kind == OutputKind::Gradient &&
          std::ranges::count(writes(instruction), output.value) > 0)
        owners.insert(owner_of(module, call.block, output.target).block);
  return {owners.begin(), owners.end()};
}

}  // namespace

const FlatUses::Uses& FlatUses::of(const ScriptCall& call) {
  const auto [found, fresh] = uses_.try_emplace({call.block, call.routine});
  if (fresh)
    found->second = {.weights_read = weights_read_by(module_, program_, call),
                     .gradients_written = gradients_written_by(module_, program_, call)};
  return found->second;
}

}  // namespace tessera
