// SPDX-License-Identifier: Apache-2.0
// The operands on which the ops of a loss over a sharded vocabulary are checked.
#pragma once

#include <cmath>

#include "ops/op_sample.h"

namespace tessera {

struct ShardedLossCase {
  std::string name;
  int64_t batch, seq, d;
  int64_t rows, shard, vocabulary;  // of the table here; which it is; of all shards
  int64_t ignored_every = 0;

  int64_t tokens() const { return batch * seq; }
  SampleOperand x() const {
    return {.type = {DType::Fp64, {{"batch", batch}, {"seq", seq}, {"d", d}}}};
  }
  SampleOperand table() const {
    return {.type = {DType::Fp64, {{"vocab", rows}, {"d", d}}}, .parameter = true};
  }
  SampleOperand labels() const {
    return {.type = {DType::Int32, {{"batch", batch}, {"seq", seq}}},
            .fill = [c = *this](int64_t i, double u) {
              return c.ignored_every > 0 && i % c.ignored_every == 0
                         ? -1.0
                         : std::floor(u * static_cast<double>(c.vocabulary));
            }};
  }
  SampleOperand label_count() const {
    return {.type = scalar(DType::Fp64),
            .fill = [n = tokens()](int64_t, double) { return static_cast<double>(n); }};
  }
  SampleOperand which_shard() const {
    return {.type = scalar(DType::Int32),
            .fill = [s = shard](int64_t, double) { return static_cast<double>(s); }};
  }
  SampleOperand row_stat(std::function<double(int64_t, double)> fill) const {
    return {.type = {DType::Fp64, {{"batch", batch}, {"seq", seq}}},
            .accumulator = true,
            .fill = std::move(fill)};
  }
  SampleOperand all_max() const {
    return row_stat([](int64_t, double u) { return 4 + u; });
  }
  SampleOperand stats() const {
    return {.type = {DType::Fp64, {{"stat", 2}, {"batch", batch}, {"seq", seq}}},
            .accumulator = true,
            .fill = [n = tokens()](int64_t i, double u) { return i < n ? 5 + 3 * u : u; }};
  }
};

inline std::vector<ShardedLossCase> sharded_loss_cases() {
  return {
      {.name = "a_shard_in_the_middle",
       .batch = 2,
       .seq = 5,
       .d = 6,
       .rows = 7,
       .shard = 1,
       .vocabulary = 19},
      {.name = "a_last_shard_with_padding",
       .batch = 3,
       .seq = 4,
       .d = 5,
       .rows = 7,
       .shard = 2,
       .vocabulary = 19,
       .ignored_every = 3},
      {.name = "the_only_shard_wider_than_a_panel",
       .batch = 1,
       .seq = 7,
       .d = 20,
       .rows = 301,
       .shard = 0,
       .vocabulary = 301,
       .ignored_every = 4},
  };
}

}  // namespace tessera
