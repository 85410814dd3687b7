// SPDX-License-Identifier: Apache-2.0
#include "models/transformer_parts.h"

#include <cmath>

namespace tessera {

TransformerDims::TransformerDims(const ModelRequest& request)
    : batch{"batch", request.shape.batch},
      seq{"seq", request.shape.seq},
      d{"d", request.config.width},
      kv_heads{"kv_heads", request.config.kv_heads},
      group{"group", request.config.heads / request.config.kv_heads},
      e{"e", request.config.head_size},
      mlp{"mlp", request.config.mlp_size},
      vocab{"vocab", request.config.vocabulary},
      context{"context", request.config.context} {}

Init weight_init(const ModelConfig& config) { return normal(config.init_deviation); }

Init residual_init(const ModelConfig& config) {
  return normal(config.init_deviation / std::sqrt(2.0 * static_cast<double>(config.layers)));
}

Tensor rotated(const ModelConfig& config, Tensor x, Tensor positions, SourceLine at) {
  Attributes attributes{{"theta", config.rope_theta},
                        {"scaling_factor", config.rope_scaling_factor},
                        {"low_freq_factor", config.rope_low_freq_factor},
                        {"high_freq_factor", config.rope_high_freq_factor},
                        {"original_context", config.rope_original_context}};
  if (config.rope_scaling == RopeScaling::Yarn) attributes.set("scaling", "yarn");
  return rope(x, positions, std::move(attributes), at);
}

double attention_scale_of(const ModelConfig& config) {
  if (config.rope_mscale == 0 || config.rope_scaling_factor == 1.0) return 0;
  const double sharper = 1.0 + 0.1 * config.rope_mscale * std::log(config.rope_scaling_factor);
  return sharper * sharper / std::sqrt(static_cast<double>(config.head_size));
}

Tensor attend(BlockBuilder& b, const ModelRequest& request, const AttentionInputs& inputs,
              double scale, SourceLine at) {
  const auto& [q, k, v, positions, document] = inputs;
  const CacheRequest& cache = request.cache;
  const auto cached = [&, to = positions](const char* name, Tensor rows) {
    Dims kept = rows.dims();
    kept[1] = {"cached", cache.positions};
    const Tensor all = write_cache(b.cache(name, std::move(kept)), rows, to, at);
    b.returns_state(name, all);
    return all;
  };
  if (cache.positions == 0) return attention(q, k, v, positions, document, scale, at);
  Tensor keys = cached("key_cache", k);
  Tensor values = cached("value_cache", v);
  return cache.begins ? attention(q, k, v, positions, document, scale, at)
                      : cached_attention(q, keys, values, positions, scale, at);
}

void add_layers(ModuleBuilder& module, const ModelConfig& config) {
  const int64_t dense = config.has_experts() ? config.dense_layers : 0;
  for (int64_t i = 0; i < config.layers; ++i)
    module.block(fmt::format("layer.{}", i), i < dense ? "dense_layer" : "layer");
}

void add_head(ModuleBuilder& module, const ModelRequest& request,
              const std::function<Tensor(BlockBuilder&, Tensor)>& norm) {
  const TransformerDims dims(request);
  const bool every = request.cache.positions > 0 && !request.cache.begins;
  BlockBuilder& b = module.block_class("head");
  Tensor x = b.stream("x", dims.stream());
  if (request.head == HeadKind::Logits || (request.head == HeadKind::Scores && !every))
    x = take_position(x, b.batch("last", {dims.batch}));
  x = norm(b, x);
  Tensor table = b.parameter("table", {dims.vocab, dims.d}, weight_init(request.config));
  if (request.head == HeadKind::Logits)
    b.returns(matmul(x, table));
  else if (request.head == HeadKind::Scores)
    b.returns(matmul_accumulated(x, table));
  else
    b.returns_loss(output_loss(x, table, b.batch("labels", dims.words())));
  std::vector<std::pair<std::string, std::string>> ties;
  if (request.config.tied) ties.emplace_back("table", "embedding.table");
  module.block("head", "head", std::move(ties));
}

}  // namespace tessera
