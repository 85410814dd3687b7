// SPDX-License-Identifier: Apache-2.0
#include "ops/optimizer/matrix_view.h"

#include <gtest/gtest.h>

#include <numeric>
#include <set>

#include "ir/op_list.h"
#include "ops/optimizer/newton_schulz.h"
#include "ops/testing/sample_call.h"

namespace tessera {
namespace {

// Of Llama's layers: gate and up, down, q and o, k and v.
constexpr std::string_view kLayer =
    "0.s2-24.r8-48.c24-1+384.r24-8.c8-1+576.r8-8.c8-1+640.r8-8.c8-1+704.r8-4.c4-1+736.r8-4.c4-1";

TEST(MatrixView, ReadsBackAsPrinted) {
  std::string text;
  for_each_view(kLayer,
                [&](const MatrixView& view) { text += (text.empty() ? "" : "+") + to_text(view); });
  EXPECT_EQ(text, kLayer);
  EXPECT_THROW(parse_matrix_view("0.x2-1"), InternalError);
  EXPECT_THROW(parse_matrix_view("0.r2"), InternalError);
}

TEST(MatrixView, JoinsNeighboursThatAreOneRun) {
  EXPECT_EQ(to_text(parse_matrix_view("0.r8-48.c2-24.c4-6.c6-1")), "0.r8-48.c48-1");
  EXPECT_EQ(to_text(parse_matrix_view("0.r8-24.c2-192.c24-1")), "0.r8-24.c2-192.c24-1");
}

TEST(MatrixView, HasEveryMatrixDealtToOneRank) {
  for (const int64_t ranks : {1, 2, 3, 5, 8, 16}) {
    std::multiset<int64_t> begins;
    int64_t all = 0, most = 0, largest = 0;
    for (int64_t rank = 0; rank < ranks; ++rank) {
      int64_t own = 0;
      for_each_owned_matrix(kLayer, ranks, rank, [&](const MatrixView& view, int64_t begin) {
        begins.insert(begin);
        own += NewtonSchulz(view).flops();
        largest = std::max(largest, NewtonSchulz(view).flops());
      });
      all += own;
      most = std::max(most, own);
    }
    EXPECT_EQ(begins, (std::multiset<int64_t>{0, 24, 384, 576, 640, 704, 736})) << ranks;
    EXPECT_LE(most, all / ranks + largest) << ranks;
  }
}

TEST(MatrixView, RunsOfLikeShapesAreWorkedOnTogether) {
  std::vector<std::string> runs;
  std::vector<int64_t> ends;
  for_each_like_run("0.r8-4.c4-1+32.r4-8.c8-1+64.s2-8.r2-4.c4-1+80.r8-4.c4-1",
                    [&](std::string_view views, int64_t first, int64_t end) {
                      EXPECT_EQ(first, ends.empty() ? 0 : ends.back());
                      runs.emplace_back(views);
                      ends.push_back(end);
                    });
  // Tall and wide ones of one shape go together; a stack of two counts as two.
  EXPECT_EQ(runs, (std::vector<std::string>{"0.r8-4.c4-1+32.r4-8.c8-1", "64.s2-8.r2-4.c4-1",
                                            "80.r8-4.c4-1"}));
  EXPECT_EQ(ends, (std::vector<int64_t>{2, 4, 5}));
  const NewtonSchulz small(parse_matrix_view("0.r768-768.c768-1")),
      large(parse_matrix_view("0.r8192-8192.c8192-1"));
  EXPECT_EQ(matrices_at_once(small, 4), 4);
  EXPECT_EQ(matrices_at_once(small, 50), 25);  // twice, instead of 28 and 22
  EXPECT_EQ(matrices_at_once(large, 4), 1);
}

// X X^T of a matrix whose singular values lie between 0.68 and 1.21.
TEST(Orthogonalize, GivesRowsThatAreNearlyOrthogonal) {
  const int64_t rows = 16, cols = 80;
  const HostTensor x = random_tensor({DType::Fp64, {{"flat", rows * cols}}}, "x");
  const HostTensor y =
      run_op(OpKind::orthogonalize, {x},
             {{"matrices", "0.r16-80.c80-1"}, {"matched_rms", 1 / std::sqrt(80.0)}})[0];
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j <= i; ++j) {
      double product = 0;
      for (int64_t k = 0; k < cols; ++k) product += y.at(i * cols + k) * y.at(j * cols + k);
      if (i == j) {
        EXPECT_GT(product, 0.68 * 0.68);
        EXPECT_LT(product, 1.21 * 1.21);
      } else {
        EXPECT_LT(std::abs(product), (1.21 * 1.21 - 0.68 * 0.68) / 2);
      }
    }
}

}  // namespace
}  // namespace tessera
