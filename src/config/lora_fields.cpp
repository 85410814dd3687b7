// SPDX-License-Identifier: Apache-2.0
#include "config/lora_fields.h"

#include "core/error.h"

namespace tessera {

std::vector<ConfigField> lora_fields(LoraSettings& l) {
  return {
      {"lora.rank", &l.rank, kLoraRank,
       "train adapters of this rank beside frozen weights (LoRA); 0: train the weights"},
      {"lora.alpha", &l.alpha, kLoraAlpha,
       "what adapters add is multiplied by lora.alpha / lora.rank"},
      {"lora.targets",
       &l.targets,
       {},
       "weights that have adapters, with commas: all, names such as wq,wv or q_proj,v_proj, or "
       "globs"},
      {"lora.base",
       &l.base,
       {},
       "the model whose weights are frozen, which checkpoints then leave out; --init-from sets it"},
  };
}

LoraConfig resolve_lora(const LoraSettings& settings) {
  LoraConfig lora{.rank = settings.rank, .alpha = settings.alpha, .targets = {}};
  lora.in_base = lora.is_on() && !settings.base.empty();
  for (std::string_view rest = settings.targets; !rest.empty();) {
    const size_t end = std::min(rest.find(','), rest.size());
    std::string target(rest.substr(0, end));
    std::erase(target, ' ');
    if (!target.empty()) lora.targets.push_back(std::move(target));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return lora;
}

void check_lora(const LoraSettings& settings) {
  if (resolve_lora(settings).targets.empty())
    throw user_error("lora.targets is empty").at("lora.targets").help("use all, or wq,wv");
}

}  // namespace tessera
