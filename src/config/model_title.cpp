// SPDX-License-Identifier: Apache-2.0
// A config's model in a few words, for headings.
#include <map>

#include "config/run_spec.h"
#include "models/model_field.h"
#include "models/model_size.h"
#include "models/presets.h"

namespace tessera {

std::string model_title(const Config& config) {
  std::string preset = preset_name(config);
  if (preset == kOwnPreset) return model_name(config);
  if (preset == kCustom) return preset;
  const ModelConfig model = resolve_model(config);
  ModelConfig plain = resolved(find_preset(preset).config);
  plain.lora = model.lora;
  if (model == plain && !model.lora.is_on()) return preset;
  std::map<std::string, std::string> changed;
  for (const auto& [key, text] : config.model) {
    ModelConfig one = plain;
    if (key == "preset") continue;
    set_model_field(one, key, text);
    if (one != plain) changed[key] = text;
  }
  if (model.lora.is_on()) changed["lora.rank"] = fmt::format("{}", model.lora.rank);
  std::string title = preset + " with ";
  for (const auto& [key, text] : changed)
    title += fmt::format("{}{}={}", title.ends_with(' ') ? "" : ", ", key, text);
  return fmt::format("{} ({:.3g}B parameters)", title,
                     static_cast<double>(parameter_count(model)) / 1e9);
}

}  // namespace tessera
