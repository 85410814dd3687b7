// SPDX-License-Identifier: Apache-2.0
#include "train/continued_config.h"

#include "config/run_spec.h"
#include "inference/stored_model.h"

namespace tessera {
namespace {

// Rope counts from the context before the first stretching: factors multiply.
ModelConfig stretched(ModelConfig model, int64_t context) {
  if (model.rope_scaling_factor == 1.0) model.rope_original_context = model.context;
  model.rope_scaling_factor *= static_cast<double>(context) / static_cast<double>(model.context);
  model.context = context;
  return model;
}

}  // namespace

ContinuedConfig continued_config(const StateSource& stored,
                                 const std::optional<std::filesystem::path>& file,
                                 std::span<const std::string> overrides) {
  const Config before = config_of(stored);
  const ModelConfig model = resolve_model(before);
  const auto with_model = [&](const ModelConfig& base) {
    std::vector<std::string> settings = model_settings(base);
    settings.push_back("model.preset=" + preset_name(before));
    return load_config(file, overrides, settings);
  };
  ContinuedConfig continued{.config = with_model(model), .note = {}};
  const ModelConfig asked = resolve_model(continued.config);
  const int64_t seq = continued.config.train.seq;
  const bool untouched = asked.context == model.context &&
                         asked.rope_scaling_factor == model.rope_scaling_factor &&
                         asked.rope_original_context == model.rope_original_context;
  if (!row_of(model.family).has_rope || !untouched || seq <= model.context) return continued;
  const ModelConfig longer = stretched(model, seq);
  continued.config = with_model(longer);
  continued.note = fmt::format(
      "samples of {} tokens, and the model's context was {}: it is {} from here on, with "
      "rope_scaling_factor = {} and rope_original_context = {}",
      seq, model.context, seq, longer.rope_scaling_factor, longer.rope_original_context);
  return continued;
}

}  // namespace tessera
