// SPDX-License-Identifier: Apache-2.0
// Llama 3 and Qwen 3: RMSNorm, rotary positions, grouped heads, SwiGLU, no biases. Qwen 3 also
// normalises each query and key head. With experts (Mixtral, OLMoE, Qwen 3 MoE) a mixture takes the
// place of the mlp, with kv_rank (DeepSeek-V3) latent attention that of attention.
#include "models/activation.h"
#include "models/latent_attention.h"
#include "models/mixture.h"
#include "models/transformer_parts.h"

namespace tessera {
namespace {

class LlamaBuilder {
 public:
  explicit LlamaBuilder(const ModelRequest& request)
      : config_(request.config),
        request_(request),
        dims_(request),
        module_(std::string(name(config_.family)), request.compute) {}

  Module build() {
    add_embedding();
    if (config_.has_experts() && config_.dense_layers > 0) add_layer_class("dense_layer", false);
    add_layer_class("layer", config_.has_experts());
    add_layers(module_, config_);
    add_head(module_, request_,
             [this](BlockBuilder& b, Tensor x) { return norm(b, "norm", x, {dims_.d}); });
    return module_.build();
  }

 private:
  void add_embedding() {
    BlockBuilder& b = module_.block_class("embedding");
    Tensor tokens = b.batch("tokens", dims_.words());
    b.returns(
        embedding(b.parameter("table", {dims_.vocab, dims_.d}, weight_init(config_)), tokens));
    module_.block("embedding", "embedding");
  }

  void add_layer_class(const std::string& name, bool experts) {
    BlockBuilder& b = module_.block_class(name);
    Tensor x = b.stream("x", dims_.stream());
    Tensor attended = norm(b, "attention_norm", x, {dims_.d});
    Tensor after_attention =
        add(x, config_.has_latent_attention() ? latent_attention(b, request_, dims_, attended)
                                              : attention_part(b, attended));
    Tensor normalised = norm(b, "mlp_norm", after_attention, {dims_.d});
    b.returns(add(after_attention,
                  experts ? mixture(b, request_, dims_, normalised) : mlp_part(b, normalised)));
  }

  Tensor attention_part(BlockBuilder& b, Tensor x) {
    const Dim &d = dims_.d, &kv_heads = dims_.kv_heads, &group = dims_.group, &e = dims_.e;
    const Init small = weight_init(config_);
    Tensor positions = b.batch("positions", dims_.words());
    Tensor q = matmul(x, b.matrix("wq", "rccc", {d, kv_heads, group, e}, small));
    Tensor k = matmul(x, b.matrix("wk", "rcc", {d, kv_heads, e}, small));
    Tensor v = matmul(x, b.matrix("wv", "rcc", {d, kv_heads, e}, small));
    if (config_.qk_norm) {
      const bool all = config_.qk_norm_over_heads;
      q = norm(b, "q_norm", q, all ? Dims{kv_heads, group, e} : Dims{e});
      k = norm(b, "k_norm", k, all ? Dims{kv_heads, e} : Dims{e});
    }
    // One after another: the order in which arguments are computed is the C++ compiler's choice.
    Tensor document = b.batch("document", dims_.words());
    k = rotated(config_, k, positions);
    q = rotated(config_, q, positions);
    Tensor mixed = attend(b, request_, {q, k, v, positions, document}, attention_scale_of(config_));
    return matmul(mixed, b.matrix("wo", "rrrc", {kv_heads, group, e, d}, residual_init(config_)));
  }

  Tensor mlp_part(BlockBuilder& b, Tensor x) {
    Tensor gate_up =
        b.matrix("gate_up", "rsc", {dims_.d, dims_.gate_up, dims_.mlp}, weight_init(config_));
    Tensor h = activate(matmul(x, gate_up), config_.activation);
    return matmul(h, b.matrix("down", "rc", {dims_.mlp, dims_.d}, residual_init(config_)));
  }

  Tensor norm(BlockBuilder& b, const std::string& name, Tensor x, Dims over) {
    return rms_norm(x, b.parameter(name, std::move(over), ones(), false), config_.norm_epsilon);
  }

  const ModelConfig& config_;
  const ModelRequest& request_;
  TransformerDims dims_;
  ModuleBuilder module_;
};

}  // namespace

Module build_llama(const ModelRequest& request) { return LlamaBuilder(request).build(); }

}  // namespace tessera
