// SPDX-License-Identifier: Apache-2.0
#include "ops/op_sample.h"

namespace tessera {

std::vector<OpSample> cached_attention_samples() {
  struct Sizes {
    int64_t batch, seq, cached, kv_heads, group, e, value_e;
  };
  const auto sample = [](const char* name, const Sizes& s,
                         const std::function<double(int64_t, double)>& positions,
                         double scale = 0.0) {
    const Dim batch{"batch", s.batch}, cached{"cached", s.cached}, heads{"kv_heads", s.kv_heads};
    const Dim value = s.value_e == s.e ? Dim{"e", s.e} : Dim{"value_e", s.value_e};
    const auto floats = [](Dims dims) {
      return SampleOperand{.type = {DType::Fp64, std::move(dims)}, .differentiable = false};
    };
    OpSample made{
        .name = name,
        .operands = {floats({batch, {"seq", s.seq}, heads, {"group", s.group}, {"e", s.e}}),
                     floats({batch, cached, heads, {"e", s.e}}),
                     floats({batch, cached, heads, value}),
                     {.type = {DType::Int32, {batch, {"seq", s.seq}}}, .fill = positions}},
        .flops = 2 * (s.e + s.value_e) * s.batch * s.seq * s.kv_heads * s.group * s.cached};
    if (scale != 0.0) made.attributes = {{"scale", scale}};
    return made;
  };
  return {
      sample("one_query_of_texts_of_different_lengths", {3, 1, 40, 2, 1, 16, 16},
             [](int64_t i, double) { return static_cast<double>((19 * i + 1) % 40); }),
      sample("several_queries_and_grouped_heads", {2, 3, 21, 2, 4, 7, 7},
             [](int64_t i, double) { return static_cast<double>((5 + i % 3 + i / 3 * 9) % 21); }),
      sample("the_first_position", {1, 1, 5, 1, 2, 33, 33}, [](int64_t, double) { return 0.0; }),
      sample(
          "values_of_another_size_with_a_scale", {1, 2, 18, 3, 1, 24, 16},
          [](int64_t i, double) { return static_cast<double>((17 + 10 * i) % 18); }, 0.3),
  };
}

}  // namespace tessera
