// SPDX-License-Identifier: Apache-2.0
// GPT-2: learned positions, LayerNorm before each half of a layer, biases, one mlp of four times
// the width, tied head.
#include "models/activation.h"
#include "models/transformer_parts.h"

namespace tessera {
namespace {

class GptBuilder {
 public:
  explicit GptBuilder(const ModelRequest& request)
      : config_(request.config),
        request_(request),
        dims_(request),
        module_("gpt", request.compute) {}

  Module build() {
    add_embedding();
    add_layer_class();
    add_layers(module_, config_);
    add_head(module_, request_, [this](BlockBuilder& b, Tensor x) { return norm(b, "norm", x); });
    return module_.build();
  }

 private:
  void add_embedding() {
    BlockBuilder& b = module_.block_class("embedding");
    Tensor tokens = b.batch("tokens", dims_.words());
    Tensor positions = b.batch("positions", dims_.words());
    Tensor table = b.parameter("table", {dims_.vocab, dims_.d}, weight_init(config_));
    Tensor position_table =
        b.parameter("position_table", {dims_.context, dims_.d}, weight_init(config_));
    // One after another: the order in which arguments are computed is the C++ compiler's choice.
    Tensor places = embedding(position_table, positions);
    b.returns(add(embedding(table, tokens), places));
    module_.block("embedding", "embedding");
  }

  void add_layer_class() {
    BlockBuilder& b = module_.block_class("layer");
    Tensor x = b.stream("x", dims_.stream());
    Tensor after_attention = add(x, attention_part(b, norm(b, "attention_norm", x)));
    b.returns(add(after_attention, mlp_part(b, norm(b, "mlp_norm", after_attention))));
  }

  Tensor attention_part(BlockBuilder& b, Tensor x) {
    const Dim &d = dims_.d, &kv_heads = dims_.kv_heads, &group = dims_.group, &e = dims_.e;
    const Init small = weight_init(config_);
    Tensor q = biased(b, matmul(x, b.matrix("wq", "rccc", {d, kv_heads, group, e}, small)), "bq",
                      {kv_heads, group, e});
    Tensor k =
        biased(b, matmul(x, b.matrix("wk", "rcc", {d, kv_heads, e}, small)), "bk", {kv_heads, e});
    Tensor v =
        biased(b, matmul(x, b.matrix("wv", "rcc", {d, kv_heads, e}, small)), "bv", {kv_heads, e});
    Tensor document = b.batch("document", dims_.words());
    Tensor positions = b.batch("positions", dims_.words());
    Tensor mixed = attend(b, request_, {q, k, v, positions, document});
    Tensor wo = b.matrix("wo", "rrrc", {kv_heads, group, e, d}, residual_init(config_));
    return biased(b, matmul(mixed, wo), "bo", {d});
  }

  Tensor mlp_part(BlockBuilder& b, Tensor x) {
    Tensor up = b.matrix("up", "rc", {dims_.d, dims_.mlp}, weight_init(config_));
    Tensor h = activate(biased(b, matmul(x, up), "up_bias", {dims_.mlp}), config_.activation);
    Tensor down = b.matrix("down", "rc", {dims_.mlp, dims_.d}, residual_init(config_));
    return biased(b, matmul(h, down), "down_bias", {dims_.d});
  }

  Tensor norm(BlockBuilder& b, const std::string& name, Tensor x) {
    Tensor gain = b.parameter(name, {dims_.d}, ones());
    return layer_norm(x, gain, b.parameter(name + "_bias", {dims_.d}, zeros()),
                      config_.norm_epsilon);
  }

  // Biases of several dims (heads) are spared weight decay like any other.
  Tensor biased(BlockBuilder& b, Tensor x, const std::string& name, Dims dims) {
    if (!config_.bias) return x;
    return bias_add(x, b.parameter(name, std::move(dims), zeros(), /*decay=*/false));
  }

  const ModelConfig& config_;
  const ModelRequest& request_;
  TransformerDims dims_;
  ModuleBuilder module_;
};

}  // namespace

Module build_gpt(const ModelRequest& request) { return GptBuilder(request).build(); }

}  // namespace tessera
