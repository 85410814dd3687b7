// SPDX-License-Identifier: Apache-2.0
#include "huggingface/adapter_json.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "config/lora_fields.h"
#include "huggingface/json_fields.h"

namespace tessera {
namespace {

constexpr int kDepth = 8;

bool holds_something(const Json& value) {
  const bool is_empty =
      (value.is_array() && value.items().empty()) || (value.is_object() && value.members().empty());
  return !is_empty;
}

void require_known_lora(const Fields& fields) {
  fields.only("peft_type", "LORA");
  for (const char* key : {"use_dora", "lora_bias", "use_qalora"}) fields.only(key, false);
  fields.only("bias", "none");
  for (const char* key : {"rank_pattern", "alpha_pattern"})
    if (!fields.object(key).empty())
      fields.refuse("give all adapters one rank and one alpha", "it has a {}", key);
  for (const char* key :
       {"modules_to_save", "layers_to_transform", "layer_replication", "trainable_token_indices",
        "alora_invocation_tokens", "target_parameters"})
    if (const Json* value = fields.find(key); value && holds_something(*value))
      fields.refuse("such adapters cannot be read", "{} is {}", key, value->dump());
}

// Of other first values the weights beside the adapters are not those of the base: what they begin
// with was taken off.
void require_base_as_it_was(const Fields& fields) {
  constexpr std::array<std::string_view, 3> kLeaveTheBase{"gaussian", "eva", "orthogonal"};
  const Json* first = fields.find("init_lora_weights");
  if (!first || !first->text() ||
      std::ranges::find(kLeaveTheBase, *first->text()) != kLeaveTheBase.end())
    return;
  fields.refuse(
      "save them as plain LoRA first: save_pretrained with "
      "path_initial_model_for_weight_conversion",
      "init_lora_weights is {}, which changes the weights of the base", first->dump());
}

}  // namespace

LoraSettings parse_adapter_json(std::string_view text, const std::string& path) {
  Json json;
  const std::string wrong = parse_json(text, kDepth, json);
  if (!wrong.empty()) throw user_error("{} {}", path, wrong).help("copy it again");
  const Fields fields(json, path);
  require_known_lora(fields);
  require_base_as_it_was(fields);
  LoraSettings lora{.rank = fields.whole("r"),
                    .alpha = fields.real("lora_alpha", 8),
                    .targets = {},
                    .base = fields.text("base_model_name_or_path", "")};
  if (lora.rank < 1 || static_cast<double>(lora.rank) > kLoraRank.high)
    fields.refuse("is the file what PEFT wrote?", "r is {}, which is not 1 to {}", lora.rank,
                  kLoraRank.high);
  const double alpha = lora.alpha;
  if (fields.flag("use_rslora", false)) lora.alpha *= std::sqrt(static_cast<double>(lora.rank));
  if (lora.alpha < kLoraAlpha.low || lora.alpha > kLoraAlpha.high)
    fields.refuse("is the file what PEFT wrote?", "lora_alpha is {}, which is too {}", alpha,
                  lora.alpha < kLoraAlpha.low ? "small" : "large");
  return lora;
}

// Keys and values as PEFT writes them.
std::string adapter_json(const LoraSettings& lora, const std::vector<std::string>& modules) {
  Json json{{"alpha_pattern", Json::object()},
            {"auto_mapping", nullptr},
            {"base_model_name_or_path", lora.base.empty() ? Json() : Json(lora.base)},
            {"bias", "none"},
            {"fan_in_fan_out", false},
            {"inference_mode", true},
            {"init_lora_weights", true},
            {"layers_pattern", nullptr},
            {"layers_to_transform", nullptr},
            {"lora_alpha", lora.alpha},
            {"lora_dropout", 0.0},
            {"modules_to_save", nullptr},
            {"peft_type", "LORA"},
            {"r", lora.rank},
            {"rank_pattern", Json::object()},
            {"revision", nullptr},
            {"target_modules", modules},
            {"task_type", "CAUSAL_LM"},
            {"use_dora", false},
            {"use_rslora", false}};
  if (lora.alpha == std::trunc(lora.alpha)) json["lora_alpha"] = static_cast<int64_t>(lora.alpha);
  return json.dump(2) + "\n";
}

}  // namespace tessera
