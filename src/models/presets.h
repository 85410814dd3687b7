// SPDX-License-Identifier: Apache-2.0
// Models by name, with their published sizes.
#pragma once

#include <span>
#include <string_view>

#include "models/model_config.h"

namespace tessera {

struct Preset {
  std::string_view name;
  std::string_view summary;
  ModelConfig config;
  BatchShape batch;  // a sensible microbatch to begin with
};

std::span<const Preset> presets();
const Preset& find_preset(std::string_view name);  // a UserError that lists the names when absent

}  // namespace tessera
