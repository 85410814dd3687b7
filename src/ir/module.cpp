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

}  // namespace tessera
