// SPDX-License-Identifier: Apache-2.0
#include "tessera/testing/own_models.h"

#include "ops/calls.h"

namespace tessera {
namespace {

constexpr int64_t kWords = 31;

void add_attention(BlockBuilder& layer, const Dims& words, const Dim& d, bool with_gelu) {
  const Dim kv_heads{"kv_heads", 2}, group{"group", 2}, e{"e", 4};
  Tensor x = layer.stream("x", {words[0], words[1], d});
  Tensor positions = layer.batch("positions", words), document = layer.batch("document", words);
  Tensor h = rms_norm(x, layer.parameter("norm", {d}, ones()), 1e-5);
  Tensor q = matmul(h, layer.parameter("wq", {d, kv_heads, group, e}, normal(0.2)));
  Tensor k = matmul(h, layer.parameter("wk", {d, kv_heads, e}, normal(0.2)));
  Tensor v = matmul(h, layer.parameter("wv", {d, kv_heads, e}, normal(0.2)));
  Tensor seen = attention(q, k, v, positions, document);
  seen = with_gelu ? gelu(seen) : relu(seen);
  layer.returns(add(x, matmul(seen, layer.parameter("wo", {kv_heads, group, e, d}, normal(0.2)))));
}

Module build_own_attention(const OwnAttention& options, const OwnModelRequest& request) {
  const Dims words{{"batch", request.shape.batch},
                   {"seq", options.seq.value_or(request.shape.seq)}};
  const Dim vocab{"vocab", kWords}, d{"d", 16};
  ModuleBuilder module("own_attention", options.compute.value_or(request.compute));
  BlockBuilder& first = module.block_class("first");
  Tensor table = first.parameter("table", {vocab, d}, normal(0.2));
  first.returns(embedding(table, first.batch("tokens", words)));
  add_attention(module.block_class("layer"), words, d, options.gelu);
  BlockBuilder& last = module.block_class("last");
  Tensor y = last.stream("y", {words[0], words[1], d});
  y = rms_norm(y, last.parameter("norm", {d}, ones()), 1e-5);
  Tensor loss = output_loss(y, last.parameter("table", {vocab, d}, normal(0.2)),
                            last.batch(options.labels, words));
  options.loss ? last.returns_loss(loss) : last.returns_step("other", loss);
  module.block("first", "first");
  for (int64_t i = 0; i < options.layers; ++i) module.block(fmt::format("layer.{}", i), "layer");
  module.block("last", "last", {{"table", "first.table"}});
  return module.build();
}

}  // namespace

OwnModel own_attention(OwnAttention options) {
  return {.name = "own_attention",
          .vocabulary = kWords,
          .build = [options](const OwnModelRequest& request) {
            return build_own_attention(options, request);
          }};
}

}  // namespace tessera
