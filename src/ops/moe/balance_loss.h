// SPDX-License-Identifier: Apache-2.0
// The operands of balance_loss and its gradient.
#pragma once

#include "ops/moe/router_loss.h"

namespace tessera {

inline void require_balance_loss(const OpCall& call) {
  require_router_loss(call, 2);
  const TensorType &logits = call.operand(0), &counts = call.operand(1);
  const Dims outer(counts.dims.begin(), counts.dims.end() - (counts.dims.empty() ? 0 : 1));
  call.require(counts.dtype == DType::Int32 && !counts.dims.empty() &&
                   counts.dims.back() == logits.dims.back() && begins_with(logits.dims, outer),
               "counts {} are not int32 counts of the experts of {}", to_string(counts),
               to_string(logits));
  const std::string& score = call.attributes.word("score");
  call.require(score == "softmax" || score == "sigmoid",
               "score = {} is not one of softmax, sigmoid", score);
}

}  // namespace tessera
