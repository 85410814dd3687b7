// SPDX-License-Identifier: Apache-2.0
#include "models/model_config.h"

#include <algorithm>
#include <array>
#include <vector>

#include "core/choices.h"
#include "core/error.h"
#include "models/model_field.h"

namespace tessera {
namespace {

constexpr std::array<std::string_view, 4> kActivationNames{"relu", "gelu", "gelu_tanh", "swiglu"};
constexpr std::array<std::string_view, 3> kRouterScoreNames{"softmax", "sigmoid", "topk_softmax"};
constexpr std::array<std::string_view, 2> kBalanceScopeNames{"sequence", "microbatch"};
constexpr std::array<std::string_view, 2> kRopeScalingNames{"llama3", "yarn"};

std::string divisors(int64_t number) {
  std::vector<std::string> found;
  for (int64_t d = 1; d <= number; ++d)
    if (number % d == 0) found.push_back(fmt::format("{}", d));
  return join_choices(found);
}

void derive_sizes(ModelConfig& config) {
  const bool gated = config.activation == Activation::Swiglu;
  if (config.has_sequence() && config.kv_heads == 0) config.kv_heads = config.heads;
  if (config.has_sequence() && config.head_size == 0) {
    if (config.width % config.heads != 0)
      throw user_error("width ({}) is not a multiple of heads ({})", config.width, config.heads)
          .at("model.heads")
          .help(fmt::format("use heads = {}, or give head_size", divisors(config.width)));
    config.head_size = config.width / config.heads;
  }
  if (config.has_latent_attention()) {
    if (config.rope_head_size == 0) config.rope_head_size = config.head_size / 2;
    if (config.value_head_size == 0)
      config.value_head_size = config.head_size - config.rope_head_size;
  }
  if (config.mlp_size == 0 && !config.has_sequence()) config.mlp_size = config.width;
  if (config.mlp_size == 0)
    config.mlp_size = gated ? (config.width * 8 / 3 + 63) / 64 * 64 : config.width * 4;
  if (!config.has_experts()) return;
  if (config.top_k == 0) config.top_k = std::min<int64_t>(2, config.experts);
  if (config.expert_mlp_size == 0) config.expert_mlp_size = config.mlp_size;
}

void check_heads(const ModelConfig& config) {
  if (config.heads % config.kv_heads != 0)
    throw user_error("heads ({}) is not a multiple of kv_heads ({})", config.heads, config.kv_heads)
        .at("model.kv_heads")
        .help(fmt::format("use kv_heads = {}", divisors(config.heads)));
  if (config.has_latent_attention()) return;
  if (row_of(config.family).has_rope && config.head_size % 2 != 0)
    throw user_error("head_size ({}) is odd, and rope turns pairs", config.head_size)
        .at("model.head_size")
        .help(fmt::format("use head_size = {} or {}",
                          config.head_size > 1 ? config.head_size - 1 : 4, config.head_size + 1));
}

void check_latent_attention(const ModelConfig& config) {
  if (config.kv_heads != config.heads)
    throw user_error("kv_heads ({}) is not heads ({}), but latent attention has keys for each head",
                     config.kv_heads, config.heads)
        .at("model.kv_heads")
        .help("leave kv_heads out, or set kv_rank = 0");
  if (config.rope_head_size % 2 != 0)
    throw user_error("rope_head_size ({}) is odd, and rope turns pairs", config.rope_head_size)
        .at("model.rope_head_size")
        .help(fmt::format("use rope_head_size = {}", config.rope_head_size + 1));
  if (config.rope_head_size >= config.head_size)
    throw user_error("rope_head_size ({}) leaves nothing of head_size ({}) that is not rotated",
                     config.rope_head_size, config.head_size)
        .at("model.rope_head_size")
        .help(fmt::format("head_size is the sum of both parts: use head_size = {}, say",
                          3 * config.rope_head_size));
  if (config.qk_norm)
    throw user_error("qk_norm is not of latent attention, which normalises what heads come from")
        .at("model.qk_norm")
        .help("leave qk_norm out, or set kv_rank = 0");
}

void check_no_latent_attention(const ModelConfig& config) {
  const auto refuse = [](std::string_view key, int64_t size) {
    if (size > 0)
      throw user_error("{} ({}) is of latent attention, but kv_rank is 0", key, size)
          .at(fmt::format("model.{}", key))
          .help(fmt::format("set model.kv_rank, or leave {} out", key));
  };
  refuse("q_rank", config.q_rank);
  refuse("rope_head_size", config.rope_head_size);
  refuse("value_head_size", config.value_head_size);
}

void check_family(const ModelConfig& config) {
  const FamilyRow& family = row_of(config.family);
  if (family.is_gated != (config.activation == Activation::Swiglu))
    throw user_error("family {} cannot have activation = {}", family.name, name(config.activation))
        .at("model.activation")
        .help(family.is_gated ? "use activation = swiglu"
                              : "use activation = relu, gelu or gelu_tanh");
  const auto require = [&](bool given, std::string_view key, bool FamilyRow::*needed) {
    if (given && !(family.*needed))
      throw user_error("family {} has no {}", family.name, key)
          .at(fmt::format("model.{}", key))
          .help(fmt::format("remove it, or use family = {}", families_with(needed)));
  };
  require(config.bias, "bias", &FamilyRow::has_bias);
  require(config.qk_norm, "qk_norm", &FamilyRow::has_qk_norm);
  require(config.rope_scaling_factor != 1.0, "rope_scaling_factor", &FamilyRow::has_rope);
  require(config.tied, "tied", &FamilyRow::has_sequence);
  require(config.has_experts(), "experts", &FamilyRow::has_experts);
  require(config.has_latent_attention(), "kv_rank", &FamilyRow::has_latent);
}

void check_experts(const ModelConfig& config) {
  if (config.experts % config.expert_groups != 0)
    throw user_error("experts ({}) is not a multiple of expert_groups ({})", config.experts,
                     config.expert_groups)
        .at("model.expert_groups")
        .help(fmt::format("use expert_groups = {}", divisors(config.experts)));
  if (config.kept_groups > config.expert_groups)
    throw user_error("kept_groups ({}) is above expert_groups ({})", config.kept_groups,
                     config.expert_groups)
        .at("model.kept_groups")
        .help(fmt::format("use kept_groups = {} or less", config.expert_groups));
  const int64_t eligible = config.experts / config.expert_groups * config.kept_groups;
  if (config.top_k > eligible)
    throw user_error("top_k ({}) is above the {} experts to choose from", config.top_k, eligible)
        .at("model.top_k")
        .help(fmt::format("use top_k = {} or less, or more experts", eligible));
  if (config.dense_layers >= config.layers)
    throw user_error("dense_layers ({}) leaves none of the {} layers for experts",
                     config.dense_layers, config.layers)
        .at("model.dense_layers")
        .help(fmt::format("use dense_layers = {} or less, or experts = 0", config.layers - 1));
}

void check_rope(const ModelConfig& config) {
  if (config.rope_low_freq_factor >= config.rope_high_freq_factor)
    throw user_error("rope_low_freq_factor ({}) is not below rope_high_freq_factor ({})",
                     config.rope_low_freq_factor, config.rope_high_freq_factor)
        .at("model.rope_low_freq_factor")
        .help("llama 3 uses 1 and 4, yarn 1 and 32");
}

}  // namespace

std::string_view name(Activation activation) {
  return kActivationNames[static_cast<size_t>(activation)];
}

std::span<const std::string_view> activation_names() { return kActivationNames; }

std::string_view name(RouterScore score) { return kRouterScoreNames[static_cast<size_t>(score)]; }
std::span<const std::string_view> router_score_names() { return kRouterScoreNames; }

std::string_view name(BalanceScope scope) { return kBalanceScopeNames[static_cast<size_t>(scope)]; }
std::span<const std::string_view> balance_scope_names() { return kBalanceScopeNames; }

std::string_view name(RopeScaling scaling) {
  return kRopeScalingNames[static_cast<size_t>(scaling)];
}
std::span<const std::string_view> rope_scaling_names() { return kRopeScalingNames; }

ModelConfig resolved(ModelConfig config) {
  if (config.family == Family::Own) return config;  // its sizes are those of its maths
  check_field_ranges(config);
  derive_sizes(config);
  check_family(config);
  if (!config.has_sequence()) return config;
  check_heads(config);
  config.has_latent_attention() ? check_latent_attention(config)
                                : check_no_latent_attention(config);
  check_rope(config);
  if (config.has_experts()) check_experts(config);
  if (!config.has_experts() && config.shared_mlp_size > 0)
    throw user_error("shared_mlp_size ({}) is of a mixture, but the model has no experts",
                     config.shared_mlp_size)
        .at("model.shared_mlp_size")
        .help("set model.experts, or leave it out: model.mlp_size is that of a dense layer");
  return config;
}

void check_batch_shape(const ModelConfig& config, const BatchShape& shape) {
  if (shape.batch < 1)
    throw user_error("batch ({}) is below 1", shape.batch).help("use batch = 1 or more");
  if (!config.has_sequence()) return;
  if (shape.seq < 1) throw user_error("seq ({}) is below 1", shape.seq).help("use seq = 1 or more");
  if (shape.seq > config.context)
    throw user_error("seq ({}) is longer than the model's context ({})", shape.seq, config.context)
        .help(fmt::format("use seq = {} or less, or set model.context = {}", config.context,
                          shape.seq));
}

}  // namespace tessera
