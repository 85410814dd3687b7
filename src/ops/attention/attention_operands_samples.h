// SPDX-License-Identifier: Apache-2.0
// The operands on which attention and its gradient are checked.
#pragma once

#include "ops/op_sample.h"

namespace tessera {

struct AttentionCase {
  std::string name;
  int64_t batch, seq, kv_heads, group, e;
  int64_t value_e = 0;  // 0: as e
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
  // Of values, where they have a size of their own, and of results.
  Dim value_dim() const { return value_e == 0 ? Dim{"e", e} : Dim{"value_e", value_e}; }
  TensorType v() const {
    TensorType type = k();
    type.dims.back() = value_dim();
    return type;
  }
  TensorType o() const {
    TensorType type = q();
    type.dims.back() = value_dim();
    return type;
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
      {.name = "values_of_a_smaller_size",
       .batch = 2,
       .seq = 7,
       .kv_heads = 2,
       .group = 1,
       .e = 12,
       .value_e = 8},
      {.name = "values_of_a_larger_size",
       .batch = 1,
       .seq = 90,
       .kv_heads = 1,
       .group = 2,
       .e = 3,
       .value_e = 5},
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
      {.name = "earlier_keys_with_values_of_a_smaller_size",
       .batch = 1,
       .seq = 6,
       .kv_heads = 2,
       .group = 2,
       .e = 6,
       .value_e = 4,
       .position = from(6),
       .document = [](int64_t t) { return t < 4 ? 1.0 : 0.0; },
       .key_position = from(0),
       .key_document = [](int64_t t) { return t < 2 ? 0.0 : 1.0; }},
  };
}

// Of the sizes that a GPU's tensor cores take: left to the tests there, a CPU would take long.
inline std::vector<AttentionCase> tensor_core_cases() {
  const auto restarts = [](int64_t t) { return static_cast<double>(t < 70 ? t : t - 70); };
  const auto documents = [](int64_t t) { return t < 70 ? 3.0 : t < 133 ? 1.0 : 2.0; };
  const auto backwards = [](int64_t t) { return static_cast<double>(200 - t); };
  const auto in_order = [](int64_t t) { return static_cast<double>(t); };
  const auto later = [](int64_t t) { return static_cast<double>(t + 60); };
  const auto one = [](int64_t) { return 0.0; };
  return {
      {.name = "causal_64", .batch = 2, .seq = 128, .kv_heads = 3, .group = 1, .e = 64},
      {.name = "causal_64_grouped", .batch = 3, .seq = 384, .kv_heads = 2, .group = 4, .e = 64},
      {.name = "causal_128_grouped",
       .batch = 2,
       .seq = 256,
       .kv_heads = 2,
       .group = 2,
       .e = 128,
       .scale = 0.05},
      {.name = "odd_length_64", .batch = 2, .seq = 157, .kv_heads = 2, .group = 3, .e = 64},
      {.name = "documents_64",
       .batch = 2,
       .seq = 256,
       .kv_heads = 2,
       .group = 2,
       .e = 64,
       .position = restarts,
       .document = documents},
      {.name = "documents_128",
       .batch = 1,
       .seq = 200,
       .kv_heads = 2,
       .group = 1,
       .e = 128,
       .position = restarts,
       .document = documents},
      {.name = "backwards_64",
       .batch = 1,
       .seq = 130,
       .kv_heads = 1,
       .group = 2,
       .e = 64,
       .position = backwards},
      {.name = "keys_of_another_rank_64",
       .batch = 1,
       .seq = 180,
       .kv_heads = 1,
       .group = 2,
       .e = 64,
       .position = later,
       .document = one,
       .key_position = in_order,
       .key_document = one},
  };
}

// Likewise, with DeepSeek-V3's sizes: queries and keys of 192 elements, values of 128.
inline std::vector<AttentionCase> latent_attention_cases() {
  const auto restarts = [](int64_t t) { return static_cast<double>(t < 70 ? t : t - 70); };
  const auto documents = [](int64_t t) { return t < 70 ? 3.0 : 1.0; };
  return {
      {.name = "latent_causal",
       .batch = 1,
       .seq = 128,
       .kv_heads = 3,
       .group = 1,
       .e = 192,
       .value_e = 128},
      {.name = "latent_documents",
       .batch = 2,
       .seq = 140,
       .kv_heads = 2,
       .group = 1,
       .e = 192,
       .value_e = 128,
       .position = restarts,
       .document = documents},
  };
}

inline std::vector<AttentionCase> attention_cases() {
  std::vector<AttentionCase> cases = whole_sequence_cases();
  for (AttentionCase& c : key_block_cases()) cases.push_back(std::move(c));
  return cases;
}

OpSample attention_sample(const AttentionCase& c);
OpSample attention_grad_sample(const AttentionCase& c);

}  // namespace tessera
