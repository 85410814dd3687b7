// SPDX-License-Identifier: Apache-2.0
#include "config/model_of_config.h"

#include <sched.h>

#include <map>

#include "models/model_field.h"
#include "models/model_size.h"
#include "models/presets.h"

namespace tessera {

ModelConfig model_of_config(const Config& config) {
  const std::string preset = preset_name(config);
  ModelConfig model = preset == kCustom ? ModelConfig{} : find_preset(preset).config;
  for (const auto& [key, text] : config.model)
    if (key != "preset") set_model_field(model, key, text);
  return resolved(model);
}

std::string model_title(const Config& config) {
  std::string preset = preset_name(config);
  if (preset == kCustom) return preset;
  const ModelConfig plain = resolved(find_preset(preset).config), model = model_of_config(config);
  if (model == plain) return preset;
  std::map<std::string, std::string> changed;
  for (const auto& [key, text] : config.model) {
    ModelConfig one = plain;
    if (key == "preset") continue;
    set_model_field(one, key, text);
    if (one != plain) changed[key] = text;
  }
  std::string title = preset + " with ";
  for (const auto& [key, text] : changed)
    title += fmt::format("{}{}={}", title.ends_with(' ') ? "" : ", ", key, text);
  return fmt::format("{} ({:.3g}B parameters)", title,
                     static_cast<double>(parameter_count(model)) / 1e9);
}

Precision precision_of_config(const Config& config) {
  const auto precision = precision_from_name(config.train.precision);
  TESSERA_CHECK(precision, "precision {}", config.train.precision);
  return *precision;
}

BatchShape microbatch_shape(const Config& config, const ModelConfig& model) {
  const int64_t batch = config.train.batch, microbatches = config.train.microbatches;
  TESSERA_CHECK(batch % microbatches == 0, "{} in {} microbatches", batch, microbatches);
  const BatchShape shape{.batch = batch / microbatches, .seq = config.train.seq};
  check_batch_shape(model, shape);
  return shape;
}

int64_t tokens_per_step(const Config& config, const ModelConfig& model) {
  return config.train.batch * (model.has_sequence() ? config.train.seq : 1);
}

int threads_of_config(const Config& config) {
  if (config.train.threads > 0) return static_cast<int>(config.train.threads);
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return 1;
  return std::max(1, CPU_COUNT(&allowed));
}

}  // namespace tessera
