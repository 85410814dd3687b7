// SPDX-License-Identifier: Apache-2.0
// Models by name, with their published sizes.
#pragma once

#include <span>
#include <string_view>

#include "models/model_config.h"

namespace tessera {

// A key of the config, and its text.
struct PresetSetting {
  std::string_view key, text;
};

struct Preset {
  std::string_view name;
  std::string_view summary;
  ModelConfig config;
  std::span<const PresetSetting> training;  // where it differs from the config's own defaults
};

// Instead of a preset's name: every field is given.
inline constexpr std::string_view kCustom = "custom";
// The same, where the model is a program's own (own_model.h), of which a config knows the name.
inline constexpr std::string_view kOwnPreset = "own";

std::span<const Preset> presets();
const Preset* preset_named(std::string_view name);  // null when absent
const Preset& find_preset(std::string_view name);   // a UserError that lists the names when absent
// The preset that a resolved config is, or kCustom.
std::string_view preset_of(const ModelConfig& config);

}  // namespace tessera
