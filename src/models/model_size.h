// SPDX-License-Identifier: Apache-2.0
// How large a model is and how much work a token costs, counted from its maths.
#pragma once

#include "ir/module.h"
#include "models/model_config.h"

namespace tessera {

int64_t parameter_count(const Module& module);  // a tied parameter counts once
// Elements of parameters that are used in matmuls, each use counted: the head's table counts even
// if it is tied, the embedding's lookup does not. Of experts those count that a token is sent to.
int64_t matmul_parameter_count(const Module& module);

int64_t parameter_count(const ModelConfig& config);
int64_t matmul_parameter_count(const ModelConfig& config);

// Flops of a training step, per token (per row of the batch for an mlp): 6 x matmul parameters, and
// for attention 6 x layers x heads x head_size x seq where only visible keys count (causal), twice
// that for a full square.
struct FlopsPerToken {
  double causal = 0;
  double full = 0;
};
FlopsPerToken flops_per_token(const ModelConfig& config, int64_t seq);

}  // namespace tessera
