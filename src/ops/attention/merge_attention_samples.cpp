// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "ops/op_sample.h"

namespace tessera {

// Rows that neither side sees have no finite lse to compare: attention_blocks_test.cpp has them.
std::vector<OpSample> merge_attention_samples() {
  const auto operands = [](Dims dims, const std::function<double(int64_t, double)>& lse,
                           const std::function<double(int64_t, double)>& lse2) {
    const TensorType rows{DType::Fp64, {dims.begin(), dims.end() - 1}};
    const TensorType o{DType::Fp64, std::move(dims)};
    return std::vector<SampleOperand>{{.type = o},
                                      {.type = rows, .accumulator = true, .fill = lse},
                                      {.type = o},
                                      {.type = rows, .accumulator = true, .fill = lse2}};
  };
  constexpr double kUnseen = -std::numeric_limits<double>::infinity();
  const auto near = [](int64_t, double u) { return 3 * u; };
  const auto far = [](int64_t i, double u) { return i % 2 == 0 ? 200 * u : -200 * u; };
  const auto even_unseen = [](int64_t i, double u) { return i % 2 == 0 ? kUnseen : u; };
  const auto odd_unseen = [](int64_t i, double u) { return i % 2 == 1 ? kUnseen : u; };
  const Dims small{{"batch", 2}, {"seq", 5}, {"kv_heads", 1}, {"group", 3}, {"e", 7}};
  const Dims large{{"batch", 1}, {"seq", 50}, {"kv_heads", 2}, {"group", 3}, {"e", 65}};
  return {
      {.name = "sides_of_like_weight",
       .operands = operands(small, near, near),
       .flops = 3 * 210 + 10 * 30},
      {.name = "one_side_outweighs_the_other",
       .operands = operands(small, far, near),
       .flops = 3 * 210 + 10 * 30},
      {.name = "rows_that_one_side_does_not_see",
       .operands = operands(small, even_unseen, odd_unseen),
       .flops = 3 * 210 + 10 * 30},
      {.name = "several_pieces",
       .operands = operands(large, near, far),
       .flops = 3 * 19500 + 10 * 300},
  };
}

}  // namespace tessera
