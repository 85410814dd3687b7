// SPDX-License-Identifier: Apache-2.0
// The operands on which attention and its gradient are checked.
#pragma once

#include "ops/op_sample.h"

namespace tessera {

struct AttentionCase {
  std::string name;
  int64_t batch, seq, kv_heads, group, e;
  double scale = 0.0;
  std::function<double(int64_t)> position = [](int64_t t) { return static_cast<double>(t); };
  std::function<double(int64_t)> document = [](int64_t) { return 0.0; };

  int64_t causal_pairs() const { return batch * kv_heads * group * (seq * (seq + 1) / 2); }
  TensorType q() const {
    return {DType::Fp64,
            {{"batch", batch}, {"seq", seq}, {"kv_heads", kv_heads}, {"group", group}, {"e", e}}};
  }
  TensorType k() const {
    return {DType::Fp64, {{"batch", batch}, {"seq", seq}, {"kv_heads", kv_heads}, {"e", e}}};
  }
  TensorType lse() const {
    return {DType::Fp64,
            {{"batch", batch}, {"seq", seq}, {"kv_heads", kv_heads}, {"group", group}}};
  }
  SampleOperand index(const std::function<double(int64_t)>& of) const {
    return {.type = {DType::Int32, {{"batch", batch}, {"seq", seq}}},
            .differentiable = false,
            .fill = [of, seq = seq](int64_t i, double) { return of(i % seq); }};
  }
};

inline std::vector<AttentionCase> attention_cases() {
  const auto backwards = [](int64_t t) { return static_cast<double>(8 - t); };
  const auto restarts = [](int64_t t) { return static_cast<double>(t < 4 ? t : t - 4); };
  const auto two = [](int64_t t) { return t < 4 ? 3.0 : 7.0; };
  return {
      {.name = "one_document_in_order", .batch = 2, .seq = 7, .kv_heads = 2, .group = 1, .e = 4},
      {.name = "grouped_heads_with_a_scale_of_their_own",
       .batch = 1,
       .seq = 5,
       .kv_heads = 2,
       .group = 3,
       .e = 6,
       .scale = 0.7},
      {.name = "two_documents",
       .batch = 2,
       .seq = 9,
       .kv_heads = 1,
       .group = 2,
       .e = 3,
       .position = restarts,
       .document = two},
      {.name = "a_sequence_laid_out_backwards",
       .batch = 1,
       .seq = 9,
       .kv_heads = 1,
       .group = 1,
       .e = 5,
       .position = backwards},
      {.name = "several_panels_and_blocks",
       .batch = 1,
       .seq = 150,
       .kv_heads = 1,
       .group = 1,
       .e = 3},
  };
}

}  // namespace tessera
