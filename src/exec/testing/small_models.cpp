// SPDX-License-Identifier: Apache-2.0
#include "exec/testing/small_models.h"

namespace tessera {

Module SmallModel::build(Precision precision, int64_t batch, HeadKind head) const {
  return build_model(config, {.batch = batch, .seq = seq}, precision, head);
}

namespace {

SmallModel small_mixture() {
  return {.name = "Moe",
          .config = {.family = Family::Qwen,
                     .layers = 2,
                     .width = 16,
                     .heads = 4,
                     .kv_heads = 2,
                     .mlp_size = 20,
                     .vocabulary = 30,
                     .context = 8,
                     .activation = Activation::Swiglu,
                     .qk_norm = true,
                     .init_deviation = 0.1,
                     .experts = 5,
                     .top_k = 2,
                     .expert_mlp_size = 12,
                     .shared_mlp_size = 8,
                     .balance_loss = 0.1,
                     .router_z_loss = 0.01},
          .seq = 7};
}

}  // namespace

std::vector<SmallModel> small_models() {
  return {{.name = "Mlp",
           .config = {.family = Family::Mlp,
                      .layers = 3,
                      .width = 12,
                      .mlp_size = 20,
                      .activation = Activation::Gelu,
                      .bias = true}},
          {.name = "Gpt",
           .config = {.family = Family::Gpt,
                      .layers = 2,
                      .width = 16,
                      .heads = 2,
                      .vocabulary = 29,
                      .context = 10,
                      .activation = Activation::GeluTanh,
                      .tied = true,
                      .bias = true,
                      .init_deviation = 0.1},
           .seq = 7},
          {.name = "Llama",
           .config = {.family = Family::Llama,
                      .layers = 2,
                      .width = 16,
                      .heads = 4,
                      .kv_heads = 2,
                      .mlp_size = 24,
                      .vocabulary = 31,
                      .context = 16,
                      .activation = Activation::Swiglu,
                      .rope_scaling_factor = 4.0,
                      .rope_original_context = 8,
                      .init_deviation = 0.1},
           .seq = 9},
          {.name = "Qwen",
           .config = {.family = Family::Qwen,
                      .layers = 2,
                      .width = 20,
                      .heads = 4,
                      .kv_heads = 2,
                      .head_size = 6,
                      .mlp_size = 24,
                      .vocabulary = 30,
                      .context = 8,
                      .activation = Activation::Swiglu,
                      .tied = true,
                      .qk_norm = true,
                      .init_deviation = 0.1},
           .seq = 8},
          small_mixture()};
}

SmallModel small_model(const std::string& name) {
  for (const SmallModel& model : small_models())
    if (model.name == name) return model;
  check_failed("a small model", __FILE__, __LINE__, name);
}

}  // namespace tessera
