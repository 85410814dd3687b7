// SPDX-License-Identifier: Apache-2.0
#include "train/continued_config.h"

#include "chat/chat_files.h"
#include "checkpoint/joined_source.h"
#include "config/lora_fields.h"
#include "config/run_spec.h"
#include "huggingface/tokenizer_files.h"
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

void require_same_lora(const Config& before, const Config& now, const std::string& path) {
  if (before.lora.rank == 0) return;
  LoraConfig was = resolve_lora(before.lora), is = resolve_lora(now.lora);
  was.in_base = is.in_base;
  if (was == is) return;
  throw user_error(
      "{} has adapters of rank {}, alpha {} and targets {}, which training goes on with", path,
      was.rank, was.alpha, before.lora.targets)
      .at("lora.rank")
      .help("leave out lora.*, or merge them first: tessera export " + path +
            " --merge --out FOLDER");
}

// Adapters that are stored know their base; for new ones it is what is stored.
void name_base(const Config& before, const StateSource& stored, LoraSettings& lora) {
  if (lora.rank == 0 && !lora.base.empty())
    throw user_error("lora.base is {}, but lora.rank is 0", lora.base)
        .at("lora.base")
        .help("set lora.rank = 8, or begin with those weights: --init-from");
  if (lora.rank > 0 && before.lora.rank == 0)
    lora.base = std::filesystem::absolute(stored.path()).lexically_normal().string();
}

}  // namespace

void name_text_format(const StateSource& stored, DataConfig& data) {
  const bool chats = data.source == DataSource::Chat;
  const bool reads_text =
      chats || data.source == DataSource::Text || data.source == DataSource::Mixture;
  if (!reads_text || !data.tokenizer.empty()) return;
  const auto whole = [](const std::filesystem::path& path) {
    return std::filesystem::absolute(path).lexically_normal().string();
  };
  const std::filesystem::path tokenizer = tokenizer_of(stored, "");
  const std::filesystem::path chat = tokenizer_folder(stored.path()) / kChatTemplateFile;
  std::error_code ignored;
  const bool has_template = std::filesystem::exists(chat, ignored);
  // A folder of adapters may leave both to its base.
  if (const auto* adapted = dynamic_cast<const JoinedSource*>(&stored);
      adapted && tokenizer.empty() && !has_template)
    return name_text_format(adapted->base(), data);
  if (!tokenizer.empty()) data.tokenizer = whole(tokenizer);
  if (chats && data.chat_template.empty() && has_template) data.chat_template = whole(chat);
}

ContinuedConfig continued_config(const StateSource& stored,
                                 const std::optional<std::filesystem::path>& file,
                                 std::span<const std::string> overrides) {
  const Config before = config_of(stored);
  const ModelConfig model = resolve_model(before);
  const auto with_model = [&](const ModelConfig& base) {
    std::vector<std::string> settings = model_settings(base, before.lora);
    settings.push_back("model.preset=" + preset_name(before));
    Config now = load_config(file, overrides, settings);
    require_same_lora(before, now, stored.path().string());
    name_base(before, stored, now.lora);
    name_text_format(stored, now.data);
    return now;
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
