// SPDX-License-Identifier: Apache-2.0
#include "ops/op_sample.h"

namespace tessera {
namespace {

SampleOperand chosen(Dims dims, double experts) {
  return {.type = {DType::Int32, std::move(dims)},
          .fill = [=](int64_t, double u) { return u * experts; }};
}

}  // namespace

std::vector<OpSample> count_routes_samples() {
  const Dim batch{"batch", 4}, seq{"seq", 6}, top_k{"top_k", 2};
  return {
      {.name = "of_all_tokens",
       .operands = {chosen({batch, seq, top_k}, 5)},
       .attributes = {{"experts", int64_t{5}}},
       .flops = 48},
      {.name = "of_each_sequence",
       .operands = {chosen({batch, seq, top_k}, 3)},
       .attributes = {{"experts", int64_t{3}}, {"by", "batch"}},
       .flops = 48},
      {.name = "experts_that_nobody_chooses",
       .operands = {chosen({seq, top_k}, 2)},
       .attributes = {{"experts", int64_t{9}}},
       .flops = 12},
  };
}

}  // namespace tessera
