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
  std::function<double(int64_t)> key_position = {}, key_document = {};  // absent: as the queries'

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
  void add_indices(std::vector<SampleOperand>& operands) const {
    for (const auto& of : {position, document, key_position, key_document})
      if (of) operands.push_back(index(of));
  }
};

inline std::vector<AttentionCase> whole_sequence_cases() {
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

// Where the keys are not those of the queries.
inline std::vector<AttentionCase> key_block_cases() {
  const auto from = [](int64_t first) {
    return [first](int64_t t) { return static_cast<double>(first + t); };
  };
  // The earliest and the latest quarter of 200 positions, and the two between.
  const auto outer = [](int64_t t) { return static_cast<double>(t < 50 ? t : 100 + t); };
  const auto inner = from(50);
  return {
      {.name = "keys_of_an_earlier_block",
       .batch = 2,
       .seq = 6,
       .kv_heads = 2,
       .group = 2,
       .e = 4,
       .position = from(6),
       .document = [](int64_t t) { return t < 4 ? 1.0 : 0.0; },
       .key_position = from(0),
       .key_document = [](int64_t t) { return t < 2 ? 0.0 : 1.0; }},
      {.name = "zigzag_keys_of_another_rank",
       .batch = 1,
       .seq = 100,
       .kv_heads = 1,
       .group = 2,
       .e = 3,
       .position = inner,
       .document = [](int64_t) { return 0.0; },
       .key_position = outer,
       .key_document = [](int64_t) { return 0.0; }},
  };
}

inline std::vector<AttentionCase> attention_cases() {
  std::vector<AttentionCase> cases = whole_sequence_cases();
  for (AttentionCase& c : key_block_cases()) cases.push_back(std::move(c));
  return cases;
}

}  // namespace tessera
