// SPDX-License-Identifier: Apache-2.0
#include "models/presets.h"

#include <array>
#include <string>
#include <vector>

#include "core/choices.h"
#include "core/error.h"
#include "models/model_field.h"

namespace tessera {
namespace {

constexpr ModelConfig mlp() {
  return {.family = Family::Mlp, .layers = 4, .width = 1024, .activation = Activation::Relu};
}

// A byte model that learns to write in minutes on two cores.
constexpr ModelConfig tiny() {
  return {.family = Family::Llama,
          .layers = 4,
          .width = 128,
          .heads = 4,
          .kv_heads = 2,
          .mlp_size = 384,
          .vocabulary = 256,
          .context = 256,
          .activation = Activation::Swiglu};
}

// As large a layer as tiny's for each token, eight of them to choose from.
constexpr ModelConfig tiny_moe() {
  return {.family = Family::Qwen,
          .layers = 4,
          .width = 128,
          .heads = 4,
          .kv_heads = 2,
          .mlp_size = 384,
          .vocabulary = 256,
          .context = 256,
          .activation = Activation::Swiglu,
          .qk_norm = true,
          .experts = 8,
          .top_k = 2,
          .expert_mlp_size = 128,
          .balance_loss = 0.01};
}

constexpr ModelConfig gpt2(int64_t layers, int64_t width, int64_t heads) {
  return {.family = Family::Gpt,
          .layers = layers,
          .width = width,
          .heads = heads,
          .vocabulary = 50257,
          .context = 1024,
          .activation = Activation::GeluTanh,
          .tied = true,
          .bias = true};
}

struct LlamaSize {
  int64_t layers, width, heads, mlp_size;
  double scaling_factor;
  bool tied;
};

constexpr ModelConfig llama3(const LlamaSize& size) {
  return {.family = Family::Llama,
          .layers = size.layers,
          .width = size.width,
          .heads = size.heads,
          .kv_heads = 8,
          .mlp_size = size.mlp_size,
          .vocabulary = 128256,
          .context = 131072,
          .activation = Activation::Swiglu,
          .rope_theta = 500000.0,
          .rope_scaling_factor = size.scaling_factor,
          .tied = size.tied};
}

struct QwenSize {
  int64_t layers, width, heads, mlp_size;
  bool tied;
};

constexpr ModelConfig qwen3(const QwenSize& size) {
  return {.family = Family::Qwen,
          .layers = size.layers,
          .width = size.width,
          .heads = size.heads,
          .kv_heads = 8,
          .head_size = 128,
          .mlp_size = size.mlp_size,
          .vocabulary = 151936,
          .context = 40960,
          .activation = Activation::Swiglu,
          .norm_epsilon = 1e-6,
          .rope_theta = 1e6,
          .tied = size.tied,
          .qk_norm = true};
}

struct QwenMoeSize {
  int64_t layers, width, heads, mlp_size, expert_mlp_size;
};

constexpr ModelConfig qwen3_moe(const QwenMoeSize& size) {
  ModelConfig config = qwen3({size.layers, size.width, size.heads, size.mlp_size, false});
  config.kv_heads = 4;
  config.experts = 128;
  config.top_k = 8;
  config.expert_mlp_size = size.expert_mlp_size;
  config.balance_loss = 0.001;
  return config;
}

struct MixtralSize {
  int64_t layers, width, heads, mlp_size, context;
};

constexpr ModelConfig mixtral(const MixtralSize& size) {
  return {.family = Family::Llama,
          .layers = size.layers,
          .width = size.width,
          .heads = size.heads,
          .kv_heads = 8,
          .mlp_size = size.mlp_size,
          .vocabulary = 32000,
          .context = size.context,
          .activation = Activation::Swiglu,
          .rope_theta = 1e6,
          .experts = 8,
          .top_k = 2,
          .balance_loss = 0.02};
}

// The paper's 0.01 and 0.001 are of means over layers, ours of sums.
constexpr ModelConfig olmoe() {
  return {.family = Family::Llama,
          .layers = 16,
          .width = 2048,
          .heads = 16,
          .mlp_size = 1024,
          .vocabulary = 50304,
          .context = 4096,
          .activation = Activation::Swiglu,
          .qk_norm = true,
          .qk_norm_over_heads = true,
          .experts = 64,
          .top_k = 8,
          .normalised_gates = false,
          .balance_loss = 0.01 / 16,
          .router_z_loss = 0.001 / 16};
}

// The context is that of pretraining.
constexpr ModelConfig deepseek_v3() {
  return {.family = Family::Llama,
          .layers = 61,
          .width = 7168,
          .heads = 128,
          .head_size = 192,
          .kv_rank = 512,
          .q_rank = 1536,
          .rope_head_size = 64,
          .value_head_size = 128,
          .mlp_size = 18432,
          .vocabulary = 129280,
          .context = 4096,
          .activation = Activation::Swiglu,
          .norm_epsilon = 1e-6,
          .init_deviation = 0.006,
          .experts = 256,
          .top_k = 8,
          .expert_mlp_size = 2048,
          .shared_mlp_size = 2048,
          .dense_layers = 3,
          .router_score = RouterScore::Sigmoid,
          .routed_scale = 2.5,
          .expert_groups = 8,
          .kept_groups = 4,
          .balance_loss = 0.0001,
          .balance_rate = 0.001};
}

// Grouped heads take the place of latent attention: as many heads, and as many weights within 0.1
// %.
constexpr ModelConfig deepseek_v3_gqa() {
  ModelConfig config = deepseek_v3();
  config.kv_heads = 8;
  config.head_size = 96;
  config.kv_rank = config.q_rank = config.rope_head_size = config.value_head_size = 0;
  return config;
}

// DeepSeek-V3's mixture with Qwen's attention.
constexpr ModelConfig dots_llm1() {
  return {.family = Family::Qwen,
          .layers = 62,
          .width = 4096,
          .heads = 32,
          .mlp_size = 10944,
          .vocabulary = 152064,
          .context = 32768,
          .activation = Activation::Swiglu,
          .rope_theta = 1e7,
          .qk_norm = true,
          .experts = 128,
          .top_k = 6,
          .expert_mlp_size = 1408,
          .shared_mlp_size = 2 * 1408,
          .dense_layers = 1,
          .router_score = RouterScore::Sigmoid,
          .routed_scale = 2.5,
          .balance_rate = 0.001};
}

constexpr std::array<PresetSetting, 4> kMlpTraining{{{"train.batch", "128"},
                                                     {"train.steps", "200"},
                                                     {"train.learning_rate", "1e-3"},
                                                     {"train.weight_decay", "0"}}};
constexpr std::array<PresetSetting, 3> kGptTraining{
    {{"train.batch", "4"}, {"train.seq", "1024"}, {"train.learning_rate", "6e-4"}}};
constexpr std::array<PresetSetting, 3> kLlamaTraining{
    {{"train.batch", "1"}, {"train.seq", "2048"}, {"train.learning_rate", "3e-4"}}};

constexpr std::array kPresets{
    Preset{"mlp", "deep mlp with squared loss on made data", mlp(), kMlpTraining},
    Preset{"tiny", "byte model in the style of llama, for the demo", tiny(), {}},
    Preset{"tiny-moe", "byte model with a mixture of experts, for a laptop", tiny_moe(), {}},
    Preset{"gpt2-124m", "GPT-2 small", gpt2(12, 768, 12), kGptTraining},
    Preset{"gpt2-350m", "GPT-2 medium", gpt2(24, 1024, 16), kGptTraining},
    Preset{"gpt2-774m", "GPT-2 large", gpt2(36, 1280, 20), kGptTraining},
    Preset{"gpt2-1.5b", "GPT-2 xl", gpt2(48, 1600, 25), kGptTraining},
    Preset{"llama3-1b", "Llama 3.2 1B", llama3({16, 2048, 32, 8192, 32, true}), kLlamaTraining},
    Preset{"llama3-3b", "Llama 3.2 3B", llama3({28, 3072, 24, 8192, 32, true}), kLlamaTraining},
    Preset{"llama3-8b", "Llama 3.1 8B", llama3({32, 4096, 32, 14336, 8, false}), kLlamaTraining},
    Preset{"llama3-70b", "Llama 3.1 70B", llama3({80, 8192, 64, 28672, 8, false}), kLlamaTraining},
    Preset{"llama3-405b", "Llama 3.1 405B", llama3({126, 16384, 128, 53248, 8, false}),
           kLlamaTraining},
    Preset{"qwen3-0.6b", "Qwen 3 0.6B", qwen3({28, 1024, 16, 3072, true}), kLlamaTraining},
    Preset{"qwen3-1.7b", "Qwen 3 1.7B", qwen3({28, 2048, 16, 6144, true}), kLlamaTraining},
    Preset{"qwen3-8b", "Qwen 3 8B", qwen3({36, 4096, 32, 12288, false}), kLlamaTraining},
    Preset{"olmoe-1b-7b", "OLMoE 1B-7B", olmoe(), kLlamaTraining},
    Preset{"qwen3-30b-a3b", "Qwen 3 30B-A3B", qwen3_moe({48, 2048, 32, 6144, 768}), kLlamaTraining},
    Preset{"qwen3-235b-a22b", "Qwen 3 235B-A22B", qwen3_moe({94, 4096, 64, 12288, 1536}),
           kLlamaTraining},
    Preset{"mixtral-8x7b", "Mixtral 8x7B", mixtral({32, 4096, 32, 14336, 32768}), kLlamaTraining},
    Preset{"mixtral-8x22b", "Mixtral 8x22B", mixtral({56, 6144, 48, 16384, 65536}), kLlamaTraining},
    Preset{"dots-llm1", "dots.llm1 142B-A14B", dots_llm1(), kLlamaTraining},
    Preset{"deepseek-v3", "DeepSeek-V3 671B-A37B", deepseek_v3(), kLlamaTraining},
    Preset{"deepseek-v3-gqa",
           "DeepSeek-V3 671B-A37B, with grouped heads in place of its latent attention",
           deepseek_v3_gqa(), kLlamaTraining},
};

}  // namespace

std::span<const Preset> presets() { return kPresets; }

const Preset* preset_named(std::string_view name) {
  for (const Preset& preset : kPresets)
    if (preset.name == name) return &preset;
  return nullptr;
}

const Preset& find_preset(std::string_view name) {
  if (const Preset* preset = preset_named(name)) return *preset;
  std::vector<std::string> names;
  for (const Preset& preset : kPresets) names.emplace_back(preset.name);
  const std::string nearest = nearest_name(name, names);
  if (!nearest.empty())
    throw user_error("there is no model {}: did you mean {}?", name, nearest)
        .help("`tessera docs config` lists all presets");
  throw user_error("there is no model {}", name).help(fmt::format("use {}", join_choices(names)));
}

std::string_view preset_of(const ModelConfig& config) {
  for (const Preset& preset : kPresets)
    if (resolved(preset.config) == config) return preset.name;
  return kCustom;
}

}  // namespace tessera
