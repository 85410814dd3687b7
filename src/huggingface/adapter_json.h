// SPDX-License-Identifier: Apache-2.0
// Reads and writes PEFT's adapter_config.json. What changes the maths and is not known here is
// refused, never ignored.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"

namespace tessera {

// Rank, alpha and, as it is named there, the base; targets are those of the tensors. `path` names
// the text in errors.
LoraSettings parse_adapter_json(std::string_view text, const std::string& path);

// `modules`: the last words of the names of modules with adapters, such as "q_proj".
std::string adapter_json(const LoraSettings& lora, const std::vector<std::string>& modules);

}  // namespace tessera
