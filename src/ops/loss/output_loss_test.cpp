// SPDX-License-Identifier: Apache-2.0
#include "ops/loss/output_loss.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "core/error.h"
#include "core/random.h"
#include "ir/op_list.h"
#include "ops/testing/sample_call.h"

namespace tessera {
namespace {

// 2048 rows of GPT-2 fall into chunks of 294 and a last one of 284, whose gradient of the table
// needs more workspace than that of a whole chunk.
TEST(OutputLoss, HasWorkspaceForAShorterLastChunk) {
  const TensorType x{DType::Fp32, {{"batch", 2}, {"seq", 1024}, {"d", 768}}};
  const TensorType table{DType::Fp32, {{"vocab", 50257}, {"d", 768}}};
  const OutputLossSizes sizes(x, table);
  const int64_t last_rows = sizes.rows % sizes.chunk_rows;
  ASSERT_GT(last_rows, 0);
  const int64_t needed = gemm_workspace_bytes(sizes.vocab, sizes.width, last_rows, 4, 2);
  ASSERT_GT(needed, gemm_workspace_bytes(sizes.vocab, sizes.width, sizes.chunk_rows, 4, 2));
  EXPECT_GE(sizes.workspace_bytes(2) - sizes.gemm, needed);
}

}  // namespace

namespace {

constexpr double kTolerance = 1e-12;  // of sums in another order, in fp64

struct Problem {
  HostTensor x, table, labels, label_count;
  int64_t vocabulary, width;
};

Problem problem(int64_t batch, int64_t seq, int64_t d, int64_t vocabulary, int64_t counted_every) {
  HostTensor labels({DType::Int32, {{"batch", batch}, {"seq", seq}}});
  const RandomStream random(3, "labels");
  for (int64_t i = 0; i < labels.size(); ++i)
    labels.set(i, i % counted_every == 0
                      ? static_cast<double>(random.below(static_cast<uint64_t>(i),
                                                         static_cast<uint64_t>(vocabulary)))
                      : -1.0);
  return {.x = random_tensor({DType::Fp64, {{"batch", batch}, {"seq", seq}, {"d", d}}}, "x"),
          .table = random_tensor({DType::Fp64, {{"vocab", vocabulary}, {"d", d}}}, "table"),
          .labels = labels,
          .label_count = scalar_tensor(DType::Fp64, static_cast<double>(batch * seq)),
          .vocabulary = vocabulary,
          .width = d};
}

// Padding holds large numbers, which would show.
HostTensor shard_of(const HostTensor& table, int64_t shard, int64_t rows, int64_t width) {
  HostTensor part({DType::Fp64, {{"vocab", rows}, {"d", width}}});
  for (int64_t i = 0; i < part.size(); ++i) {
    const int64_t from = shard * part.size() + i;
    part.set(i, from < table.size() ? table.at(from) : 100.0);
  }
  return part;
}

struct Combined {
  HostTensor evaluated;             // the loss without its gradient
  std::vector<HostTensor> losses;   // by shard
  HostTensor dx;                    // summed over the shards
  std::vector<HostTensor> dtables;  // by shard
};

Combined combine(const Problem& p, int64_t shards) {
  const int64_t rows = (p.vocabulary + shards - 1) / shards;
  const Attributes attributes{{"vocabulary", p.vocabulary}};
  std::vector<HostTensor> tables, indices;
  std::vector<std::vector<HostTensor>> local;
  HostTensor all_max, stats;
  for (int64_t s = 0; s < shards; ++s) {
    tables.push_back(shard_of(p.table, s, rows, p.width));
    indices.push_back(scalar_tensor(DType::Int32, static_cast<double>(s)));
    local.push_back(
        run_op(OpKind::output_stats, {p.x, tables.back(), p.labels, indices.back()}, attributes));
    if (s == 0) all_max = local[0][0];
    for (int64_t i = 0; i < all_max.size(); ++i)
      all_max.set(i, std::max(all_max.at(i), local.back()[0].at(i)));
  }
  for (int64_t s = 0; s < shards; ++s) {
    const auto& l = local[static_cast<size_t>(s)];
    const HostTensor own = run_op(OpKind::shared_stats, {l[0], l[1], l[2], all_max})[0];
    if (s == 0)
      stats = own;
    else
      add_to(stats, own);
  }
  Combined combined;
  combined.evaluated = run_op(OpKind::sharded_loss, {all_max, stats, p.labels, p.label_count})[0];
  for (size_t s = 0; s < tables.size(); ++s) {
    const auto results =
        run_op(OpKind::sharded_loss_grad,
               {p.x, tables[s], p.labels, p.label_count, indices[s], all_max, stats}, attributes);
    combined.losses.push_back(results[0]);
    if (s == 0)
      combined.dx = results[1];
    else
      add_to(combined.dx, results[1]);
    combined.dtables.push_back(results[2]);
  }
  return combined;
}

void expect_equals_the_whole(const Problem& p, int64_t shards) {
  SCOPED_TRACE(fmt::format("{} shards of a vocabulary of {}", shards, p.vocabulary));
  const auto expected = run_op(OpKind::output_loss_grad, {p.x, p.table, p.labels, p.label_count});
  const Combined combined = combine(p, shards);
  EXPECT_LE(relative_error(combined.evaluated, expected[0]), kTolerance);
  for (const HostTensor& loss : combined.losses)
    EXPECT_TRUE(loss.same_bits(combined.evaluated)) << loss.at(0);
  EXPECT_LE(relative_error(combined.dx, expected[1]), kTolerance);
  HostTensor dtable(expected[2].type());
  int64_t at = 0;
  for (const HostTensor& part : combined.dtables)
    for (int64_t i = 0; i < part.size(); ++i, ++at) {
      if (at < dtable.size())
        dtable.set(at, part.at(i));
      else
        ASSERT_EQ(part.at(i), 0) << "padding, element " << at;
    }
  EXPECT_LE(relative_error(dtable, expected[2]), kTolerance);
}

TEST(ShardedLoss, EqualsTheLossOfTheWholeVocabulary) {
  for (const int64_t shards : {1, 2, 3}) {
    expect_equals_the_whole(problem(2, 9, 6, 37, 1), shards);
    expect_equals_the_whole(problem(3, 5, 4, 12, 2), shards);
  }
}

TEST(ShardedLoss, AllowsAShardOfPaddingAlone) {
  const Problem p = problem(2, 3, 5, 4, 1);
  const auto stats =
      run_op(OpKind::output_stats,
             {p.x, shard_of(p.table, 2, 2, 5), p.labels, scalar_tensor(DType::Int32, 2)},
             {{"vocabulary", int64_t{4}}});
  for (int64_t i = 0; i < stats[0].size(); ++i) {
    EXPECT_EQ(stats[0].at(i), -std::numeric_limits<double>::infinity());
    EXPECT_EQ(stats[1].at(i), 0);
    EXPECT_EQ(stats[2].at(i), 0);
  }
  expect_equals_the_whole(p, 3);
}

// Few labels count, so that few exponentials are needed.
TEST(ShardedLoss, GoesOnFromChunkToChunk) {
  const Problem p = problem(1, 65, 2, 2 * 131072 - 5, 16);
  const OutputLossSizes s(p.x.type(), {DType::Fp64, {{"vocab", 131072}, {"d", 2}}});
  ASSERT_LT(s.chunk_rows, s.rows);
  expect_equals_the_whole(p, 2);
}

TEST(ShardedLoss, WithEveryLabelIgnoredIsZero) {
  Problem p = problem(2, 3, 5, 8, 1);
  for (int64_t i = 0; i < p.labels.size(); ++i) p.labels.set(i, -1);
  p.label_count.set(0, 0);
  const Combined combined = combine(p, 2);
  EXPECT_EQ(combined.evaluated.at(0), 0);
  for (int64_t i = 0; i < combined.dx.size(); ++i) EXPECT_EQ(combined.dx.at(i), 0);
  for (const HostTensor& part : combined.dtables)
    for (int64_t i = 0; i < part.size(); ++i) EXPECT_EQ(part.at(i), 0);
}

TEST(ShardedLoss, WantsToKnowTheVocabulary) {
  const Problem p = problem(2, 3, 5, 8, 1);
  try {
    run_op(OpKind::output_stats, {p.x, p.table, p.labels, scalar_tensor(DType::Int32, 0)});
    FAIL();
  } catch (const UserError& error) {
    EXPECT_EQ(error.message(), "output_stats: vocabulary = 0 must be positive");
  }
}

}  // namespace

}  // namespace tessera
