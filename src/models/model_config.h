// SPDX-License-Identifier: Apache-2.0
// The sizes and settings of a model: the [model] section of a config. Zero means "derive it", see
// `resolved`.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "models/family.h"
#include "models/lora_config.h"

namespace tessera {

struct OwnModel;

enum class Activation : uint8_t { Relu, Gelu, GeluTanh, Swiglu };
std::string_view name(Activation activation);
std::span<const std::string_view> activation_names();  // in the order of the enum

// How a router's logits become scores (ops/moe/route).
enum class RouterScore : uint8_t { Softmax, Sigmoid, TopkSoftmax };
std::string_view name(RouterScore score);
std::span<const std::string_view> router_score_names();

// Over which tokens choices are counted for the balance loss: those of each sequence, or those of
// the microbatch.
enum class BalanceScope : uint8_t { Sequence, Microbatch };
std::string_view name(BalanceScope scope);
std::span<const std::string_view> balance_scope_names();

// How rope's slow rotations are stretched over a longer context.
enum class RopeScaling : uint8_t { Llama3, Yarn };
std::string_view name(RopeScaling scaling);
std::span<const std::string_view> rope_scaling_names();

struct ModelConfig {
  Family family = Family::Gpt;
  int64_t layers = 0;
  int64_t width = 0;
  int64_t heads = 0;
  int64_t kv_heads = 0;   // 0: as many as heads
  int64_t head_size = 0;  // of queries and keys; 0: width / heads
  // Latent attention (DeepSeek-V2): keys and values of all heads come from one small vector of a
  // token, and only a part of each head is rotated; that of the keys is one for all heads.
  int64_t kv_rank = 0;          // size of that vector; 0: keys and values come from the stream
  int64_t q_rank = 0;           // likewise of queries
  int64_t rope_head_size = 0;   // rotated part of head_size; 0: half of it
  int64_t value_head_size = 0;  // 0: what is left of head_size
  int64_t mlp_size = 0;  // 0: width without a sequence, else 4 x width, or where the activation is
                         // swiglu 8/3 x width up to a multiple of 64
  int64_t vocabulary = 0;
  int64_t context = 0;
  Activation activation = Activation::GeluTanh;
  double norm_epsilon = 1e-5;
  double rope_theta = 10000.0;
  RopeScaling rope_scaling = RopeScaling::Llama3;
  double rope_scaling_factor = 1.0;  // 1 means none
  double rope_low_freq_factor = 1.0;
  double rope_high_freq_factor = 4.0;
  int64_t rope_original_context = 8192;
  double rope_mscale = 0.0;         // YaRN's sharpening of attention; 0: none
  bool tied = false;                // the output head shares the embedding's table
  bool qk_norm = false;             // each query and key head is normalised before rope
  bool qk_norm_over_heads = false;  // over all heads at once (OLMoE)
  bool bias = false;
  double init_deviation = 0.02;

  // A mixture of experts instead of each layer's mlp; without experts the rest means nothing.
  int64_t experts = 0;
  int64_t top_k = 0;            // experts of each token; 0: 2, or all of them if there are fewer
  int64_t expert_mlp_size = 0;  // of one expert; 0: mlp_size
  int64_t shared_mlp_size = 0;  // of an expert that sees every token; 0: none
  int64_t dense_layers = 0;     // the first layers, which have an mlp
  RouterScore router_score = RouterScore::Softmax;
  bool normalised_gates = true;  // the gates of a token add up to 1
  double routed_scale = 1.0;     // times this
  int64_t expert_groups = 1;     // of which a token's experts are in kept_groups
  int64_t kept_groups = 1;
  double balance_loss = 0.0;  // coefficients of losses that are added to the model's
  BalanceScope balance_scope = BalanceScope::Sequence;
  double router_z_loss = 0.0;
  double balance_rate = 0.0;  // by which a step moves the biases that routers choose with; 0: none

  // Of Family::Own alone: what builds it. The config that it came from keeps it alive.
  const OwnModel* own = nullptr;
  LoraConfig lora = {};  // of [lora]

  bool has_sequence() const { return row_of(family).has_sequence; }
  bool has_experts() const { return experts > 0; }
  bool has_latent_attention() const { return kv_rank > 0; }
  int64_t value_size() const { return has_latent_attention() ? value_head_size : head_size; }
  bool operator==(const ModelConfig&) const = default;
};

// The shape of one microbatch. `seq` means nothing to a model without a sequence.
struct BatchShape {
  int64_t batch = 1;
  int64_t seq = 1;
  bool operator==(const BatchShape&) const = default;
};

// Fills in derived sizes and checks that all fit together; a UserError names the sizes that would
// work.
ModelConfig resolved(ModelConfig config);
void check_batch_shape(const ModelConfig& config, const BatchShape& shape);

}  // namespace tessera
