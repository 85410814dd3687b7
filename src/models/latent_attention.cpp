// SPDX-License-Identifier: Apache-2.0
// As the paper has it: q = [q_nope; rope(q_rope)] and k = [k_nope; rope(k_rope)], each part with a
// weight of its own. All heads share k_rope, which comes from the stream itself. Weights from the
// stream to the small vectors have no dim of heads: ranks that split heads hold them whole.
#include "models/latent_attention.h"

namespace tessera {
namespace {

// Of the norms of the small vectors, whatever the model's own is (DeepSeek's code, transformers).
constexpr double kEpsilon = 1e-6;

Tensor compressed(BlockBuilder& b, const ModelConfig& config, Tensor x, const std::string& name,
                  const Dim& rank) {
  Tensor down =
      matmul(x, b.matrix("w" + name + "_down", "rc", {x.dims().back(), rank}, weight_init(config)));
  return rms_norm(down, b.parameter(name + "_norm", {rank}, ones(), false), kEpsilon);
}

}  // namespace

Tensor latent_attention(BlockBuilder& b, const ModelRequest& request, const TransformerDims& dims,
                        Tensor x) {
  const ModelConfig& config = request.config;
  const Dim &kv_heads = dims.kv_heads, &group = dims.group;
  const Dim nope{"nope_e", config.head_size - config.rope_head_size},
      rope{"rope_e", config.rope_head_size}, value{"value_e", config.value_head_size};
  const Init small = weight_init(config);
  const auto weight = [&](const char* name, Dims shape) {
    std::string letters(shape.size(), 'c');
    letters.front() = 'r';
    return b.matrix(name, std::move(letters), std::move(shape), small);
  };
  Tensor positions = b.batch("positions", dims.words());
  Tensor document = b.batch("document", dims.words());

  Tensor of_q = config.q_rank > 0 ? compressed(b, config, x, "q", {"q_rank", config.q_rank}) : x;
  const Dim& q_in = of_q.dims().back();
  Tensor q = matmul(of_q, weight("wq", {q_in, kv_heads, group, nope}));
  Tensor q_rope = matmul(of_q, weight("wq_rope", {q_in, kv_heads, group, rope}));
  q = concat(q, rotated(config, q_rope, positions), "e");

  Tensor of_kv = compressed(b, config, x, "kv", {"kv_rank", config.kv_rank});
  const Dim& kv_in = of_kv.dims().back();
  Tensor k_rope = matmul(x, weight("wk_rope", {dims.d, rope}));
  Tensor k = matmul(of_kv, weight("wk", {kv_in, kv_heads, nope}));
  k = concat(k, rotated(config, k_rope, positions), "e");
  Tensor v = matmul(of_kv, weight("wv", {kv_in, kv_heads, value}));

  Tensor mixed = attend(b, request, {q, k, v, positions, document}, attention_scale_of(config));
  return matmul(mixed,
                b.matrix("wo", "rrrc", {kv_heads, group, value, dims.d}, residual_init(config)));
}

}  // namespace tessera
