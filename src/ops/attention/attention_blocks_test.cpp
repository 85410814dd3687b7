// SPDX-License-Identifier: Apache-2.0
// Compares attention over blocks of keys, as a ring of ranks computes it, with attention over all
// keys.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/error.h"
#include "ir/op_list.h"
#include "ops/testing/sample_call.h"

namespace tessera {
namespace {

constexpr int64_t kBatch = 2, kSeq = 240;  // several panels of keys, also per rank
constexpr double kTolerance = 1e-12;       // of sums in another order, in fp64

TensorType queries(int64_t seq, DType dtype = DType::Fp64) {
  return {dtype, {{"batch", kBatch}, {"seq", seq}, {"kv_heads", 2}, {"group", 2}, {"e", 5}}};
}
TensorType keys(int64_t seq, DType dtype = DType::Fp64) {
  return {dtype, {{"batch", kBatch}, {"seq", seq}, {"kv_heads", 2}, {"e", 5}}};
}
HostTensor index(int64_t seq, const std::function<int64_t(int64_t)>& of) {
  HostTensor tensor({DType::Int32, {{"batch", kBatch}, {"seq", seq}}});
  for (int64_t i = 0; i < tensor.size(); ++i) tensor.set(i, static_cast<double>(of(i % seq)));
  return tensor;
}

// What one rank holds: a subset of the sequence, in its own order.
struct Block {
  HostTensor q, k, v, dout, positions, document;
};

HostTensor chosen(const HostTensor& from, const std::vector<int64_t>& order) {
  TensorType type = from.type();
  const int64_t seq = type.dims[1].size, inner = from.size() / (kBatch * seq);
  const int64_t count = std::ssize(order);
  type.dims[1].size = count;
  HostTensor to(type);
  for (int64_t row = 0; row < kBatch * count; ++row) {
    const int64_t source = row / count * seq + order[static_cast<size_t>(row % count)];
    for (int64_t i = 0; i < inner; ++i) to.set(row * inner + i, from.at(source * inner + i));
  }
  return to;
}

// Rank r holds pieces r and 2n-1-r of 2n.
std::vector<int64_t> zigzag(int64_t rank, int64_t ranks) {
  const int64_t piece = kSeq / (2 * ranks);
  std::vector<int64_t> order;
  for (const int64_t p : {rank, 2 * ranks - 1 - rank})
    for (int64_t i = 0; i < piece; ++i) order.push_back(p * piece + i);
  return order;
}

struct Case {
  const char* name;
  int64_t ranks;
  std::vector<int64_t> documents;  // where each begins
};

class AttentionBlocks : public testing::TestWithParam<Case> {
 protected:
  int64_t document_of(int64_t t) const {
    const auto& begins = GetParam().documents;
    return std::upper_bound(begins.begin(), begins.end(), t) - begins.begin() - 1;
  }
  Block whole() const {
    const auto position = [&](int64_t t) {
      return t - GetParam().documents[static_cast<size_t>(document_of(t))];
    };
    return {.q = random_tensor(queries(kSeq), "q"),
            .k = random_tensor(keys(kSeq), "k"),
            .v = random_tensor(keys(kSeq), "v"),
            .dout = random_tensor(queries(kSeq), "do"),
            .positions = index(kSeq, position),
            .document = index(kSeq, [&](int64_t t) { return document_of(t); })};
  }
  static Block part(const Block& b, const std::vector<int64_t>& order) {
    return {.q = chosen(b.q, order),
            .k = chosen(b.k, order),
            .v = chosen(b.v, order),
            .dout = chosen(b.dout, order),
            .positions = chosen(b.positions, order),
            .document = chosen(b.document, order)};
  }
};

std::vector<HostTensor> attend(const Block& mine, const Block& theirs) {
  return run_op(OpKind::attention, {mine.q, theirs.k, theirs.v, mine.positions, mine.document,
                                    theirs.positions, theirs.document});
}

std::vector<HostTensor> attend_backward(const Block& mine, const std::vector<HostTensor>& o_lse,
                                        const Block& theirs) {
  return run_op(OpKind::attention_grad,
                {mine.q, theirs.k, theirs.v, o_lse[0], o_lse[1], mine.dout, mine.positions,
                 mine.document, theirs.positions, theirs.document});
}

TEST_P(AttentionBlocks, MergeIntoAttentionInOneGo) {
  const Block all = whole();
  const auto expected =
      run_op(OpKind::attention, {all.q, all.k, all.v, all.positions, all.document});
  const int64_t ranks = GetParam().ranks;
  for (int64_t rank = 0; rank < ranks; ++rank) {
    const Block mine = part(all, zigzag(rank, ranks));
    std::vector<HostTensor> merged;
    for (int64_t other = 0; other < ranks; ++other) {
      const auto hop = attend(mine, part(all, zigzag(other, ranks)));
      merged = other == 0 ? hop
                          : run_op(OpKind::merge_attention, {merged[0], merged[1], hop[0], hop[1]});
    }
    for (size_t i = 0; i < 2; ++i)
      EXPECT_LE(relative_error(merged[i], chosen(expected[i], zigzag(rank, ranks))), kTolerance)
          << "rank " << rank << ", result " << i;
  }
}

TEST_P(AttentionBlocks, AddUpToTheGradientInOneGo) {
  const Block all = whole();
  const auto o_lse = run_op(OpKind::attention, {all.q, all.k, all.v, all.positions, all.document});
  const auto expected = run_op(OpKind::attention_grad, {all.q, all.k, all.v, o_lse[0], o_lse[1],
                                                        all.dout, all.positions, all.document});
  const int64_t ranks = GetParam().ranks;
  for (int64_t rank = 0; rank < ranks; ++rank) {
    const auto order = zigzag(rank, ranks);
    const Block mine = part(all, order);
    std::vector<HostTensor> sums;  // dq of this rank's rows, dk and dv of its keys
    for (int64_t other = 0; other < ranks; ++other) {
      const auto theirs_order = zigzag(other, ranks);
      const Block theirs = part(all, theirs_order);
      const auto as_queries =
          attend_backward(mine, {chosen(o_lse[0], order), chosen(o_lse[1], order)}, theirs);
      const auto as_keys = attend_backward(
          theirs, {chosen(o_lse[0], theirs_order), chosen(o_lse[1], theirs_order)}, mine);
      if (other == 0) {
        sums = {as_queries[0], as_keys[1], as_keys[2]};
        continue;
      }
      add_to(sums[0], as_queries[0]);
      add_to(sums[1], as_keys[1]);
      add_to(sums[2], as_keys[2]);
    }
    for (size_t i = 0; i < 3; ++i)
      EXPECT_LE(relative_error(sums[i], chosen(expected[i], order)), kTolerance)
          << "rank " << rank << ", result " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Ring, AttentionBlocks,
    testing::Values(Case{"one_rank_two_documents", 1, {0, 101}},
                    Case{"two_ranks_one_document", 2, {0}},
                    Case{"two_ranks_documents_across_borders", 2, {0, 37, 50, 131, 200}},
                    Case{"three_ranks_one_document", 3, {0}},
                    Case{"three_ranks_documents_across_borders", 3, {0, 37, 50, 131, 200}}),
    [](const auto& tested) { return tested.param.name; });

constexpr int64_t kFew = 40;

// Keys of documents 0 and 2 for queries of document 1, so that ranges overlap though no key is
// seen; the last query is of document 2 and sees half of the keys.
Block around_the_document(DType dtype) {
  return {.q = random_tensor(queries(kFew, dtype), "q"),
          .k = random_tensor(keys(kFew, dtype), "k"),
          .v = random_tensor(keys(kFew, dtype), "v"),
          .dout = random_tensor(queries(kFew, dtype), "do"),
          .positions = index(kFew, [](int64_t) { return 99; }),
          .document = index(kFew, [](int64_t t) { return t == kFew - 1 ? 2 : 1; })};
}

TEST(UnseenKeys, LeaveZerosAndAnLseOfMinusInfinity) {
  for (const DType dtype : {DType::Fp64, DType::Fp32, DType::Bf16}) {
    const Block mine = around_the_document(dtype);
    Block theirs = mine;
    theirs.document = index(kFew, [](int64_t t) { return t % 2 == 0 ? 0 : 2; });
    const auto results = attend(mine, theirs);
    for (int64_t row = 0; row < results[1].size(); ++row) {
      const bool sees = row / 4 % kFew == kFew - 1;
      EXPECT_EQ(std::isfinite(results[1].at(row)), sees) << name(dtype) << ", row " << row;
      EXPECT_EQ(results[1].at(row) == -std::numeric_limits<double>::infinity(), !sees);
      for (int64_t i = 0; i < 5; ++i)
        EXPECT_EQ(results[0].at(row * 5 + i) != 0, sees) << name(dtype) << ", row " << row;
    }
    const auto gradients = attend_backward(mine, results, theirs);
    for (int64_t i = 0; i < gradients[0].size(); ++i)
      EXPECT_EQ(gradients[0].at(i) != 0, i / 20 % kFew == kFew - 1) << name(dtype) << " dq " << i;
    for (const size_t result : {1, 2})
      for (int64_t i = 0; i < gradients[result].size(); ++i)
        EXPECT_EQ(gradients[result].at(i) != 0, i / 10 % kFew % 2 == 1)
            << name(dtype) << ", result " << result << ", element " << i;
  }
}

TEST(UnseenKeys, OfAWholeBlockGiveZeroGradients) {
  for (const DType dtype : {DType::Fp64, DType::Fp32, DType::Bf16}) {
    const Block mine = around_the_document(dtype);
    Block theirs = mine;
    theirs.positions = index(kFew, [](int64_t) { return 100; });
    const auto results = attend(mine, theirs);
    for (int64_t i = 0; i < results[0].size(); ++i) EXPECT_EQ(results[0].at(i), 0);
    for (int64_t i = 0; i < results[1].size(); ++i)
      EXPECT_EQ(results[1].at(i), -std::numeric_limits<double>::infinity());
    for (const HostTensor& gradient : attend_backward(mine, attend(mine, mine), theirs))
      for (int64_t i = 0; i < gradient.size(); ++i) EXPECT_EQ(gradient.at(i), 0) << name(dtype);
  }
}

// lse = -inf means that the row saw no key, whatever the mask.
TEST(AttentionGrad, RowsThatSawNothingAddNothing) {
  for (const DType dtype : {DType::Fp64, DType::Fp32, DType::Bf16}) {
    const Block mine = around_the_document(dtype);
    auto o_lse = attend(mine, mine);
    for (int64_t i = 0; i < o_lse[1].size(); ++i)
      o_lse[1].set(i, -std::numeric_limits<double>::infinity());
    for (const HostTensor& gradient : attend_backward(mine, o_lse, mine))
      for (int64_t i = 0; i < gradient.size(); ++i) EXPECT_EQ(gradient.at(i), 0) << name(dtype);
  }
}

TEST(MergeAttention, KeepsTheBitsOfTheOnlySideThatSees) {
  const Block mine = around_the_document(DType::Fp32);
  Block hidden = mine;
  hidden.positions = index(kFew, [](int64_t) { return 100; });
  const auto some = attend(mine, mine), none = attend(mine, hidden);
  const auto left = run_op(OpKind::merge_attention, {some[0], some[1], none[0], none[1]});
  const auto right = run_op(OpKind::merge_attention, {none[0], none[1], some[0], some[1]});
  const auto neither = run_op(OpKind::merge_attention, {none[0], none[1], none[0], none[1]});
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_TRUE(left[i].same_bits(some[i])) << "result " << i;
    EXPECT_TRUE(right[i].same_bits(some[i])) << "result " << i;
    EXPECT_TRUE(neither[i].same_bits(none[i])) << "result " << i;
  }
}

TEST(Attention, WantsANameForAHeadSizeOfTheValuesOwn) {
  const Block mine = around_the_document(DType::Fp32);
  TensorType v = keys(kFew, DType::Fp32);
  v.dims[3].size = 3;
  try {
    run_op(OpKind::attention,
           {mine.q, mine.k, random_tensor(v, "v"), mine.positions, mine.document});
    FAIL();
  } catch (const UserError& error) {
    EXPECT_EQ(error.message(), "attention: v has e = 3 where q has 5");
  }
  v.dims[3].name = "value_e";
  const auto results = run_op(
      OpKind::attention, {mine.q, mine.k, random_tensor(v, "v"), mine.positions, mine.document});
  EXPECT_EQ(results[0].type().dims.back(), (Dim{"value_e", 3}));
}

TEST(Attention, WantsKeyPositionsAndKeyDocumentTogether) {
  const Block mine = around_the_document(DType::Fp32);
  try {
    run_op(OpKind::attention,
           {mine.q, mine.k, mine.v, mine.positions, mine.document, mine.positions});
    FAIL();
  } catch (const UserError& error) {
    EXPECT_EQ(error.message(), "attention: key_positions is given without key_document");
  }
}

}  // namespace
}  // namespace tessera
