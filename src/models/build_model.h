// SPDX-License-Identifier: Apache-2.0
// Builds the maths of a model from its config: a module of blocks `embedding`, `layer.<i>` and
// `head`. Batch inputs are tokens, labels, positions and document (int32 [batch, seq]); for an mlp
// x and target; with a logits head, `last` (int32 [batch]).
#pragma once

#include "core/precision.h"
#include "ir/module.h"
#include "models/model_config.h"

namespace tessera {

// Loss: the step value `loss`. Logits: the stream that the last block returns, [batch, vocab], of
// the position `last` of each row (for an mlp: its prediction). Scores: the same in the
// accumulator's dtype, to compute likelihoods from; where tokens go on with a text that is kept, of
// every position: [batch, seq, vocab].
enum class HeadKind : uint8_t { Loss, Logits, Scores };

// What a model keeps of a text that it writes: keys and values of up to `positions` positions, as
// states `key_cache` and `value_cache` of each layer. Tokens either begin the text, and see only
// each other, or go on with it, and see all that is kept.
struct CacheRequest {
  int64_t positions = 0;  // 0: nothing is kept
  bool begins = false;
};

Module build_model(const ModelConfig& config, BatchShape shape, Precision precision, HeadKind head,
                   CacheRequest cache = {});

// Small, in fp32 and without adapters: to ask for its parameters.
Module plain_module(ModelConfig config);

// By family; the config must be resolved and the shape checked.
struct ModelRequest {
  ModelConfig config;
  BatchShape shape;
  DType compute;
  HeadKind head;
  CacheRequest cache = {};
};
Module build_mlp(const ModelRequest& request);
Module build_gpt(const ModelRequest& request);
Module build_llama(const ModelRequest& request);  // also qwen
Module build_own(const ModelRequest& request);    // by the config's OwnModel, and checked

}  // namespace tessera
