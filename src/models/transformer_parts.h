// SPDX-License-Identifier: Apache-2.0
// Shared by gpt and llama: named dims, initial weights and the head. Query head kv_head * group + g
// reads key head kv_head.
#pragma once

#include <functional>

#include "models/build_model.h"
#include "ops/calls.h"

namespace tessera {

struct TransformerDims {
  explicit TransformerDims(const ModelRequest& request);

  Dim batch, seq, d, kv_heads, group, e, mlp, vocab, context;
  Dim gate_up{"gate_up", 2};

  Dims words() const { return {batch, seq}; }  // of tokens, labels, positions, document
  Dims stream() const { return {batch, seq, d}; }
};

// Weights that write into the residual stream are initialized smaller, so that it does not grow
// with depth (GPT-2).
Init weight_init(const ModelConfig& config);
Init residual_init(const ModelConfig& config);

// Rotated by its position, as the config's rope fields have it.
Tensor rotated(const ModelConfig& config, Tensor x, Tensor positions,
               SourceLine at = SourceLine::here());

// 0, which is one over the root of the head size, or that times YaRN's sharpening.
double attention_scale_of(const ModelConfig& config);

// Attention of a layer: over the keys and values of this call or, where the request says so, over
// all that are cached.
struct AttentionInputs {
  Tensor q, k, v, positions, document;
};
Tensor attend(BlockBuilder& b, const ModelRequest& request, const AttentionInputs& inputs,
              double scale = 0, SourceLine at = SourceLine::here());

// Adds `config.layers` blocks of class `layer`; in a mixture the first may be of class
// `dense_layer`.
void add_layers(ModuleBuilder& module, const ModelConfig& config);

// The final norm, then loss or logits from a table that may be the embedding's.
void add_head(ModuleBuilder& module, const ModelRequest& request,
              const std::function<Tensor(BlockBuilder&, Tensor)>& norm);

}  // namespace tessera
