// SPDX-License-Identifier: Apache-2.0
// Operands of the router's losses.
#pragma once

#include "ops/op_sample.h"

namespace tessera {

inline SampleOperand sample_logits(Dims dims) {
  return {.type = {DType::Fp64, std::move(dims)}, .accumulator = true};
}

inline SampleOperand sample_label_count(double count) {
  return {.type = scalar(DType::Fp64), .differentiable = false, .fill = [=](int64_t, double) {
            return count;
          }};
}

}  // namespace tessera
