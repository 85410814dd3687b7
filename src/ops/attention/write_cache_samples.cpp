// SPDX-License-Identifier: Apache-2.0
#include "ops/op_sample.h"

namespace tessera {

std::vector<OpSample> write_cache_samples() {
  const auto operands = [](int64_t batch, int64_t cached, int64_t seq, Dims row,
                           const std::function<double(int64_t, double)>& positions) {
    const auto rows_of = [&](Dim dim) {
      Dims dims{{"batch", batch}, std::move(dim)};
      dims.insert(dims.end(), row.begin(), row.end());
      return TensorType{DType::Fp64, std::move(dims)};
    };
    return std::vector<SampleOperand>{
        {.type = rows_of({"cached", cached}), .differentiable = false},
        {.type = rows_of({"seq", seq}), .differentiable = false},
        {.type = {DType::Int32, {{"batch", batch}, {"seq", seq}}}, .fill = positions}};
  };
  const Dims heads{{"kv_heads", 2}, {"e", 5}};
  return {
      {.name = "a_text_from_its_first_position_on",
       .operands =
           operands(2, 9, 4, heads, [](int64_t i, double) { return static_cast<double>(i % 4); })},
      {.name = "one_position_of_texts_of_different_lengths",
       .operands = operands(
           3, 7, 1, heads, [](int64_t i, double) { return static_cast<double>((2 * i + 1) % 7); })},
      {.name = "backwards_and_with_gaps",
       .operands =
           operands(1, 11, 4, {{"kv_heads", 3}, {"e", 1}},
                    [](int64_t i, double) { return static_cast<double>((10 + 8 * i) % 11); })},
  };
}

}  // namespace tessera
