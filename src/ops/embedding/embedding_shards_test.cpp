// SPDX-License-Identifier: Apache-2.0
// Compares a table cut into shards of rows, the last one padded, with the full table.
#include <gtest/gtest.h>

#include "core/error.h"
#include "ir/op_list.h"
#include "ops/testing/sample_call.h"

namespace tessera {
namespace {

constexpr int64_t kRows = 11;
const TensorType kTable{DType::Fp64, {{"vocab", kRows}, {"d", 7}}};
const TensorType kFound{DType::Fp64, {{"batch", 2}, {"seq", 20}, {"d", 7}}};

HostTensor all_rows_in_turn() {
  HostTensor index({DType::Int32, {{"batch", 2}, {"seq", 20}}});
  for (int64_t i = 0; i < index.size(); ++i) index.set(i, static_cast<double>(i * 7 % kRows));
  return index;
}

// Rows that the table does not have are padding, full of ones.
HostTensor shard_of(const HostTensor& table, int64_t shard, int64_t rows) {
  HostTensor part({DType::Fp64, {{"vocab", rows}, {"d", 7}}});
  for (int64_t i = 0; i < part.size(); ++i) {
    const int64_t from = shard * part.size() + i;
    part.set(i, from < table.size() ? table.at(from) : 1.0);
  }
  return part;
}

TEST(EmbeddingShards, AddUpToTheLookup) {
  const HostTensor table = random_tensor(kTable, "table"), index = all_rows_in_turn();
  const HostTensor expected = run_op(OpKind::embedding, {table, index})[0];
  for (const int64_t shards : {1, 2, 3}) {
    const int64_t rows = (kRows + shards - 1) / shards;
    HostTensor sum(kFound);
    for (int64_t i = 0; i < sum.size(); ++i) sum.set(i, 0);
    for (int64_t s = 0; s < shards; ++s)
      add_to(sum,
             run_op(OpKind::embedding, {shard_of(table, s, rows), index,
                                        scalar_tensor(DType::Int32, static_cast<double>(s))})[0]);
    EXPECT_TRUE(sum.same_bits(expected)) << shards << " shards";
  }
}

TEST(EmbeddingShards, EachHoldItsRowsOfTheGradient) {
  const HostTensor index = all_rows_in_turn(), dy = random_tensor(kFound, "dy");
  const HostTensor expected =
      run_op(OpKind::embedding_grad, {index, dy}, {{"rows", kRows}, {"rows_dim", "vocab"}})[0];
  for (const int64_t shards : {1, 2, 3}) {
    const int64_t rows = (kRows + shards - 1) / shards;
    for (int64_t s = 0; s < shards; ++s) {
      const HostTensor part = run_op(
          OpKind::embedding_grad, {index, dy, scalar_tensor(DType::Int32, static_cast<double>(s))},
          {{"rows", rows}, {"rows_dim", "vocab"}})[0];
      for (int64_t i = 0; i < part.size(); ++i) {
        const int64_t from = s * part.size() + i;
        EXPECT_EQ(part.at(i), from < expected.size() ? expected.at(from) : 0.0)
            << "shard " << s << " of " << shards << ", element " << i;
      }
    }
  }
}

TEST(EmbeddingShards, RefuseANegativeIndex) {
  HostTensor index = all_rows_in_turn();
  index.set(5, -1);
  const HostTensor shard = scalar_tensor(DType::Int32, 0);
  EXPECT_THROW(run_op(OpKind::embedding, {random_tensor(kTable, "table"), index, shard}),
               InternalError);
  EXPECT_THROW(run_op(OpKind::embedding_grad, {index, random_tensor(kFound, "dy"), shard},
                      {{"rows", kRows}, {"rows_dim", "vocab"}}),
               InternalError);
}

}  // namespace
}  // namespace tessera
