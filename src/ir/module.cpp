// SPDX-License-Identifier: Apache-2.0
#include "ir/module.h"

namespace tessera {

int Module::find_class(std::string_view class_name) const {
  for (size_t i = 0; i < classes.size(); ++i)
    if (classes[i].name == class_name) return static_cast<int>(i);
  return kNone;
}

int Module::find_block(std::string_view block_name) const {
  for (size_t i = 0; i < blocks.size(); ++i)
    if (blocks[i].name == block_name) return static_cast<int>(i);
  return kNone;
}

std::string Module::state_name(const Block& block, std::string_view input) const {
  for (const auto& [parameter, state] : block.ties)
    if (parameter == input) return state;
  return fmt::format("{}.{}", block.name, input);
}

const GraphInput* find_flat(const BlockClass& block_class, std::string_view bundle, FlatRole role,
                            std::string_view slot) {
  for (const GraphInput& input : block_class.graph.inputs())
    if (input.flat && !input.flat->staged && input.flat->bundle == bundle &&
        input.flat->role == role && input.flat->slot == slot)
      return &input;
  return nullptr;
}

const Bundle* find_bundle(const BlockClass& block_class, std::string_view parameter) {
  for (const Bundle& bundle : block_class.bundles)
    for (const std::string& member : bundle.parameters)
      if (member == parameter) return &bundle;
  return nullptr;
}

Owner owner_of(const Module& module, int block, std::string_view parameter) {
  const Block& here = module.blocks[static_cast<size_t>(block)];
  for (const auto& [tied, state] : here.ties)
    if (tied == parameter &&
        module.class_of(here).graph.find_input(InputKind::State, parameter)->state->tied) {
      const size_t dot = state.rfind('.');
      return {module.find_block(state.substr(0, dot)), state.substr(dot + 1)};
    }
  return {block, std::string(parameter)};
}

}  // namespace tessera
