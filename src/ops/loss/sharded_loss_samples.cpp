// SPDX-License-Identifier: Apache-2.0
// The operands on which the ops of a loss over a sharded vocabulary are checked.
#include <cmath>
#include <limits>

#include "ops/op_sample.h"

namespace tessera {
namespace {

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

std::vector<ShardedLossCase> sharded_loss_cases() {
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

}  // namespace

std::vector<OpSample> sharded_loss_samples() {
  const auto sample = [](const char* name, int64_t ignored_every, int64_t flops) {
    const ShardedLossCase c{.name = name,
                            .batch = 3,
                            .seq = 7,
                            .d = 1,
                            .rows = 1,
                            .shard = 0,
                            .vocabulary = 50,
                            .ignored_every = ignored_every};
    return OpSample{.name = name,
                    .operands = {c.all_max(), c.stats(), c.labels(), c.label_count()},
                    .flops = flops};
  };
  return {sample("every_label_counts", 0, 4 * 21 + 1),
          sample("some_labels_are_ignored", 3, 4 * 21 + 1),
          sample("all_labels_are_ignored", 1, 4 * 21 + 1)};
}

std::vector<OpSample> sharded_loss_grad_samples() {
  std::vector<OpSample> samples;
  for (const ShardedLossCase& c : sharded_loss_cases())
    samples.push_back({.name = c.name,
                       .operands = {c.x(), c.table(), c.labels(), c.label_count(), c.which_shard(),
                                    c.all_max(), c.stats()},
                       .attributes = {{"vocabulary", c.vocabulary}},
                       .flops = c.tokens() * c.rows * (6 * c.d + 2)});
  samples.back().attributes.set("dtype", "fp64");  // of bf16 the gradient is then fp32
  OpSample frozen = samples.front();
  frozen.name = "a_frozen_table";
  frozen.attributes.set("with_dtable", int64_t{0});
  frozen.flops = frozen.flops / (6 * 6 + 2) * (4 * 6 + 2);
  samples.push_back(std::move(frozen));
  return samples;
}

std::vector<OpSample> output_stats_samples() {
  std::vector<OpSample> samples;
  for (const ShardedLossCase& c : sharded_loss_cases())
    samples.push_back({.name = c.name,
                       .operands = {c.x(), c.table(), c.labels(), c.which_shard()},
                       .attributes = {{"vocabulary", c.vocabulary}},
                       .flops = c.tokens() * c.rows * (2 * c.d + 3)});
  return samples;
}

std::vector<OpSample> shared_stats_samples() {
  const auto sample = [](const char* name, int64_t seq, double below, int64_t flops) {
    const ShardedLossCase c{
        .name = name, .batch = 2, .seq = seq, .d = 1, .rows = 1, .shard = 0, .vocabulary = 1};
    return OpSample{.name = name,
                    .operands = {c.row_stat([below](int64_t i, double u) {
                                   return i % 5 == 0 ? below : 3 * u;
                                 }),
                                 c.row_stat([](int64_t, double u) { return 1 + u; }),
                                 c.row_stat([](int64_t, double u) { return u - 1; }), c.all_max()},
                    .flops = flops};
  };
  return {sample("a_shard_near_the_largest", 9, 2.0, 3 * 18),
          sample("logits_far_below_the_largest", 9, -300.0, 3 * 18),
          sample("a_shard_of_padding", 9, -std::numeric_limits<double>::infinity(), 3 * 18),
          sample("several_pieces", 9000, 2.0, 3 * 18000)};
}

}  // namespace tessera
