// SPDX-License-Identifier: Apache-2.0
// What samples of single ops cannot show: pools with rows to spare, ties, and that route, order,
// dispatch and combine fit together.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ir/op_list.h"
#include "ops/testing/sample_call.h"

namespace tessera {
namespace {

HostTensor tensor_of(TensorType type, const std::vector<double>& values) {
  HostTensor tensor(std::move(type));
  for (size_t i = 0; i < values.size(); ++i) tensor.set(static_cast<int64_t>(i), values[i]);
  return tensor;
}

HostTensor integers(Dims dims, const std::vector<double>& values) {
  return tensor_of({DType::Int32, std::move(dims)}, values);
}

std::vector<double> values_of(const HostTensor& tensor) {
  std::vector<double> values;
  for (int64_t i = 0; i < tensor.size(); ++i) values.push_back(tensor.at(i));
  return values;
}

using Values = std::vector<double>;

TEST(Route, GivesTiesToTheLowerIndex) {
  const HostTensor logits = tensor_of({DType::Fp64, {{"seq", 2}, {"choice", 4}}},
                                      {1, 3, 3, 3, /*next token*/ 0, 0, 0, 0});
  const auto results = run_op(OpKind::route, {logits}, {{"top_k", int64_t{2}}});
  EXPECT_EQ(values_of(results[1]), (Values{1, 2, 0, 1}));
}

TEST(Route, ChoosesByTheBiasButWeighsWithoutIt) {
  const HostTensor logits = tensor_of({DType::Fp64, {{"seq", 1}, {"choice", 3}}}, {0, 0, 0});
  const HostTensor bias = tensor_of({DType::Fp64, {{"choice", 3}}}, {-1, 5, 7});
  const auto results = run_op(OpKind::route, {logits, bias}, {{"top_k", int64_t{2}}});
  EXPECT_EQ(values_of(results[1]), (Values{2, 1}));
  EXPECT_NEAR(results[0].at(0), 1.0 / 3, 1e-15);
}

TEST(Route, TakesExpertsFromTheBestGroupsAlone) {
  // The best expert of all is alone in its group; the other group's two best score more together.
  const HostTensor logits = tensor_of({DType::Fp64, {{"seq", 1}, {"choice", 4}}}, {5, -90, 2, 1});
  const auto results = run_op(
      OpKind::route, {logits},
      {{"score", "sigmoid"}, {"groups", int64_t{2}}, {"kept", int64_t{1}}, {"top_k", int64_t{2}}});
  EXPECT_EQ(values_of(results[1]), (Values{2, 3}));
}

TEST(Route, ChoosesDifferentExpertsEvenOfNumbersThatAreNone) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const HostTensor logits = tensor_of({DType::Fp64, {{"seq", 1}, {"choice", 3}}}, {nan, nan, nan});
  const auto results = run_op(OpKind::route, {logits}, {{"top_k", int64_t{2}}});
  EXPECT_EQ(values_of(results[1]), (Values{0, 1}));
}

TEST(OrderRoutes, SortsByExpertThenByToken) {
  const HostTensor chosen = integers({{"seq", 3}, {"top_k", 2}}, {2, 0, 0, 2, 2, 1});
  const auto results =
      run_op(OpKind::order_routes, {chosen}, {{"experts", int64_t{3}}, {"slots", int64_t{3}}});
  EXPECT_EQ(values_of(results[0]), (Values{3, 0, 1, 4, 5, 2}));
  EXPECT_EQ(values_of(results[1]), (Values{1, 2, 5, 0, 3, 4, -1, -1, -1}));
  EXPECT_EQ(values_of(results[2]), (Values{2, 3, 6}));
}

TEST(OrderRoutes, LeavesOutWhatThePoolHasNoRowFor) {
  const HostTensor chosen = integers({{"seq", 5}, {"top_k", 1}}, {1, 0, 7, 1, 1});
  const auto results =
      run_op(OpKind::order_routes, {chosen}, {{"experts", int64_t{2}}, {"slots", int64_t{1}}});
  EXPECT_EQ(values_of(results[0]), (Values{1, 0, -1, -1, -1}));
  EXPECT_EQ(values_of(results[1]), (Values{1, 0}));
  EXPECT_EQ(values_of(results[2]), (Values{1, 2}));
}

// Of 9 choices 8 are of these experts, twice as many as there are rows.
TEST(OrderRoutes, TellsWhatASmallPoolWouldNeedAndWritesNothingBeyondIt) {
  const HostTensor chosen = integers({{"seq", 9}, {"top_k", 1}}, {1, 0, 7, 1, 1, 0, 0, 1, 1});
  const Attributes small{{"experts", int64_t{2}}, {"slots", int64_t{2}}, {"needed", int64_t{1}}};
  const auto results = run_op(OpKind::order_routes, {chosen}, small);
  EXPECT_EQ(values_of(results[0]), (Values{3, 0, -1, -1, -1, 1, 2, -1, -1}));
  EXPECT_EQ(values_of(results[1]), (Values{1, 5, 6, 0}));
  EXPECT_EQ(values_of(results[2]), (Values{3, 4}));
  EXPECT_EQ(values_of(results[3]), (Values{3, 8}));
}

TEST(ExpertNeed, KeepsTheLargest) {
  const HostTensor needed = integers({{"expert", 2}}, {3, 6}),
                   source = integers({{"expert", 2}, {"slot", 2}}, {0, 1, 2, 3});
  const SampleCall call{.op = OpKind::expert_need,
                        .attributes = {},
                        .operands = {needed, source},
                        .operand_types = {needed.type(), source.type()},
                        .result_types = {scalar(DType::Fp64)}};
  EXPECT_EQ(run_kernel(call)[0].at(0), 1.5);
  const auto kept_of = [&](double before) {
    return run_kernel(call, {.added_to = {scalar_tensor(DType::Fp64, before)}, .accumulate = 1})[0]
        .at(0);
  };
  EXPECT_EQ(kept_of(1.25), 1.5);
  EXPECT_EQ(kept_of(1.75), 1.75);
}

// A pool of 4 experts and 3 slots for 5 tokens with 2 choices: 10 rows, 2 to spare; expert 2 is not
// chosen.
struct SparePool {
  static constexpr int64_t kRows = 12, kUsed = 10, kWidth = 5, kInner = 7;
  const Dim seq{"seq", 5}, expert{"expert", 4}, slot{"slot", 3}, d{"d", kWidth},
      mlp{"expert_mlp", kInner};
  HostTensor chosen = integers({seq, {"top_k", 2}}, {0, 1, 1, 3, 3, 0, 0, 3, 1, 0});
  std::vector<HostTensor> routes =
      run_op(OpKind::order_routes, {chosen}, {{"experts", expert.size}, {"slots", slot.size}});
  HostTensor x = random_tensor({DType::Fp64, {seq, d}}, "x");
  HostTensor gates = random_tensor({DType::Fp64, {seq, {"top_k", 2}}}, "gates");

  const HostTensor& place() const { return routes[0]; }
  const HostTensor& ends() const { return routes[2]; }
  std::vector<HostTensor> dispatched() const {
    return run_op(OpKind::dispatch, {x, chosen, place(), routes[1], gates});
  }
};

TEST(Dispatch, PutsEachTokenWhereItsPlaceIs) {
  const SparePool pool;
  const auto rows = pool.dispatched();
  for (int64_t i = 0; i < 10; ++i) {
    const auto row = static_cast<int64_t>(pool.place().at(i));
    EXPECT_EQ(rows[1].at(row), pool.gates.at(i));
    for (int64_t c = 0; c < SparePool::kWidth; ++c)
      EXPECT_EQ(rows[0].at(row * SparePool::kWidth + c), pool.x.at(i / 2 * SparePool::kWidth + c));
  }
}

TEST(Combine, AddsATokensRowsAndTakesItsGatesBack) {
  const SparePool pool;
  const auto rows = pool.dispatched();
  const auto back =
      run_op(OpKind::combine, {rows[0], pool.chosen, pool.place(), pool.routes[1], rows[1]});
  for (int64_t i = 0; i < back[0].size(); ++i) EXPECT_EQ(back[0].at(i), 2 * pool.x.at(i));
  EXPECT_TRUE(back[1].same_bits(pool.gates));
}

TEST(Combine, GivesZerosToATokenWithoutRows) {
  const HostTensor none = integers({{"seq", 1}, {"top_k", 2}}, {-1, -1});
  const HostTensor y = random_tensor({DType::Fp64, {{"expert", 1}, {"slot", 2}, {"d", 3}}}, "y");
  const HostTensor source = integers({{"expert", 1}, {"slot", 2}}, {-1, -1});
  EXPECT_EQ(values_of(run_op(OpKind::combine, {y, none, none, source})[0]), (Values{0, 0, 0}));
}

// Fresh memory is NaN: a row that is written is one no longer.
void expect_rows_to_spare_untouched(const HostTensor& pool) {
  const int64_t width = pool.size() / SparePool::kRows;
  for (int64_t i = 0; i < pool.size(); ++i)
    EXPECT_EQ(std::isnan(pool.at(i)), i >= SparePool::kUsed * width) << "element " << i;
}

// So that a kernel that reads on writes numbers.
HostTensor with_rows_to_spare_of_ones(HostTensor pool) {
  const int64_t width = pool.size() / SparePool::kRows;
  for (int64_t i = SparePool::kUsed * width; i < pool.size(); ++i) pool.set(i, 1);
  return pool;
}

TEST(ExpertPool, RowsAfterTheLastEndAreNotWrittenWhateverTheyHold) {
  const SparePool pool;
  auto rows = pool.dispatched();
  for (HostTensor& each : rows) each = with_rows_to_spare_of_ones(each);
  const HostTensor up =
      random_tensor({DType::Fp64, {pool.expert, pool.d, {"gate_up", 2}, pool.mlp}}, "up");
  const auto h = run_op(OpKind::expert_matmul, {rows[0], up, pool.ends()});
  const HostTensor full = with_rows_to_spare_of_ones(h[0]);
  const auto a = run_op(OpKind::expert_swiglu, {full, rows[1], pool.ends()});
  const HostTensor da = with_rows_to_spare_of_ones(a[0]);
  const auto back =
      run_op(OpKind::expert_swiglu_grad, {full, rows[1], da, pool.ends()}, {{"again", int64_t{1}}});
  for (const auto& tensors : {h, a, back})
    for (const HostTensor& tensor : tensors) expect_rows_to_spare_untouched(tensor);
}

TEST(ExpertPool, RowsAfterTheLastEndAreNeitherReadNorWritten) {
  const SparePool pool;
  const auto rows = pool.dispatched();
  const HostTensor up =
      random_tensor({DType::Fp64, {pool.expert, pool.d, {"gate_up", 2}, pool.mlp}}, "up");
  const auto h = run_op(OpKind::expert_matmul, {rows[0], up, pool.ends()});
  const auto a = run_op(OpKind::expert_swiglu, {h[0], rows[1], pool.ends()});
  const auto back = run_op(OpKind::expert_swiglu_grad, {h[0], rows[1], a[0], pool.ends()},
                           {{"again", int64_t{1}}});
  for (const auto& tensors : {rows, h, a, back})
    for (const HostTensor& tensor : tensors) expect_rows_to_spare_untouched(tensor);
  EXPECT_EQ(values_of(a[0]).size(), values_of(back[2]).size());
  for (int64_t i = 0; i < SparePool::kUsed * SparePool::kInner; ++i)
    EXPECT_EQ(back[2].at(i), a[0].at(i)) << "made again, element " << i;
}

TEST(ExpertPool, AnExpertWithoutRowsHasAGradientOfZeros) {
  const SparePool pool;
  const auto rows = pool.dispatched();
  const auto dw =
      run_op(OpKind::expert_matmul_dw,
             {rows[0], random_tensor({DType::Fp64, {pool.expert, pool.slot, pool.mlp}}, "dy"),
              pool.ends()});
  const int64_t own = SparePool::kWidth * SparePool::kInner;
  for (int64_t i = 0; i < dw[0].size(); ++i) {
    EXPECT_TRUE(std::isfinite(dw[0].at(i))) << i;
    EXPECT_EQ(dw[0].at(i) == 0, i / own == 2) << i;
  }
}

TEST(ExpertMatmul, OfOneExpertHasTheBitsOfMatmul) {
  const Dim d{"d", 70}, mlp{"expert_mlp", 90};
  const HostTensor x = random_tensor({DType::Fp32, {{"expert", 1}, {"slot", 50}, d}}, "x"),
                   w = random_tensor({DType::Fp32, {{"expert", 1}, d, mlp}}, "w");
  HostTensor plain_x({DType::Fp32, {{"slot", 50}, d}}), plain_w({DType::Fp32, {d, mlp}});
  std::ranges::copy(x.bytes(), plain_x.bytes().begin());
  std::ranges::copy(w.bytes(), plain_w.bytes().begin());
  const auto grouped = run_op(OpKind::expert_matmul, {x, w, integers({{"expert", 1}}, {50})});
  const auto plain = run_op(OpKind::matmul, {plain_x, plain_w});
  EXPECT_TRUE(std::ranges::equal(grouped[0].bytes(), plain[0].bytes()));
}

TEST(OrderRoutes, ShardsHaveThePoolsOfTheirOwnExperts) {
  const HostTensor chosen = integers({{"seq", 3}, {"top_k", 2}}, {0, 3, 2, 1, 3, 0});
  const Attributes two{{"experts", int64_t{2}}, {"slots", int64_t{3}}};
  const auto first = run_op(OpKind::order_routes, {chosen, integers({}, {0})}, two);
  EXPECT_EQ(values_of(first[0]), (Values{0, -1, -1, 2, -1, 1}));
  EXPECT_EQ(values_of(first[1]), (Values{0, 5, 3, -1, -1, -1}));
  EXPECT_EQ(values_of(first[2]), (Values{2, 3}));
  const auto second = run_op(OpKind::order_routes, {chosen, integers({}, {1})}, two);
  EXPECT_EQ(values_of(second[0]), (Values{-1, 1, 0, -1, 2, -1}));
  EXPECT_EQ(values_of(second[1]), (Values{2, 1, 4, -1, -1, -1}));
  EXPECT_EQ(values_of(second[2]), (Values{1, 3}));
}

}  // namespace
}  // namespace tessera
