// SPDX-License-Identifier: Apache-2.0
#include "sim/kernel_cost.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "ir/op_list.h"
#include "sim/testing/toy_cluster.h"

namespace tessera {
namespace {

// x[10, 10] w[10, 10]: 2,000 flops, 1,200 bytes.
struct Product {
  Attributes attributes{{"dtype", "same"}};
  std::vector<TensorType> operands{{DType::Fp32, {{"a", 10}, {"b", 10}}},
                                   {DType::Fp32, {{"b", 10}, {"c", 10}}}};
  std::vector<TensorType> results{{DType::Fp32, {{"a", 10}, {"c", 10}}}};

  OpCall call() const { return {OpKind::matmul, attributes, operands, results}; }
};

TEST(KernelCost, IsTheRooflineOverTheEfficiencyAndALaunch) {
  Cluster cluster = toy_cluster();
  const Product product;
  EXPECT_DOUBLE_EQ(KernelCost(cluster, {}).seconds(product.call()), 1.2);  // bytes
  cluster.device.peak_flops.front().second.value = 500;
  EXPECT_DOUBLE_EQ(KernelCost(cluster, {}).seconds(product.call()), 4);  // flops
  cluster.efficiencies.push_back({OpKind::matmul, 0, 0, "toy", {{{10, 10, 10}, 0.5}}});
  cluster.device.launch_seconds.value = 3;
  EXPECT_DOUBLE_EQ(KernelCost(cluster, {}).seconds(product.call()), 11);
}

TEST(KernelCost, TheFlopsBytesAndFillOfACurveAddUp) {
  Cluster cluster = toy_cluster();
  cluster.device.peak_flops.front().second.value = 500;
  cluster.device.launch_seconds.value = 3;
  cluster.efficiencies.push_back({.op = OpKind::matmul, .source = "toy"});
  EfficiencyCurve& curve = cluster.efficiencies.back().curve.emplace();
  const Product product;
  const auto seconds = [&] { return KernelCost(cluster, {}).seconds(product.call()); };
  EXPECT_DOUBLE_EQ(seconds(), 3 + 4 + 1.2);
  curve = {.ceiling = 0.5, .memory = 0.25, .fill_seconds = 7};
  EXPECT_DOUBLE_EQ(seconds(), 3 + 8 + 4.8 + 7);
  curve.narrow = 20;  // k is 10
  EXPECT_DOUBLE_EQ(seconds(), 3 + 3 * 8 + 4.8 + 7);
}

TEST(KernelCost, OthersKernelsPassOverEachResultAgain) {
  const Cluster cluster = toy_cluster();
  const Product product;  // a result of 400 bytes
  EXPECT_DOUBLE_EQ(KernelCost(cluster, {.extra_passes = 1}).seconds(product.call()), 1.2 + 0.8);
  EXPECT_DOUBLE_EQ(KernelCost(cluster, {.extra_passes = 2}).seconds(product.call()), 1.2 + 1.6);
}

// q[2, 8, 3, 2, 4] over k[2, 8, 3, 4]: 2 x 3 x 2 x 8 x 8 = 768 scores.
struct Attention {
  Attributes attributes{{"scale", 1.0}};
  std::vector<TensorType> operands{
      {DType::Bf16, {{"batch", 2}, {"seq", 8}, {"kv_heads", 3}, {"group", 2}, {"e", 4}}},
      {DType::Bf16, {{"batch", 2}, {"seq", 8}, {"kv_heads", 3}, {"e", 4}}},
      {DType::Bf16, {{"batch", 2}, {"seq", 8}, {"kv_heads", 3}, {"e", 4}}}};

  OpCall call(OpKind op) const { return {op, attributes, operands, operands}; }
};

TEST(OtherAttention, UnfusedReadsAndWritesEveryScoreAndSkipsNone) {
  const Attention attention;
  const auto cost = [&](OpKind op, bool dropout) {
    return unfused_cost(attention.call(op), {.kernel = "unfused", .dropout = dropout});
  };
  EXPECT_EQ(cost(OpKind::attention, false).flops, 2 * 2 * 4 * 768);
  EXPECT_EQ(cost(OpKind::attention_grad, false).flops, 4 * 2 * 4 * 768);
  EXPECT_EQ(cost(OpKind::attention, true).product_bytes, 4 * 768);
  EXPECT_EQ(cost(OpKind::attention, false).other_bytes, 4 * 768);
  EXPECT_EQ(cost(OpKind::attention, true).other_bytes, 9 * 768);
  EXPECT_EQ(cost(OpKind::attention_grad, true).product_bytes, 8 * 768);
  EXPECT_EQ(cost(OpKind::attention_grad, true).other_bytes, 11 * 768);
}

// 16 rows and a vocabulary of 5.
TEST(OtherLoss, LogitsInMemoryCostTheirBytesAndSaveAProductOfShards) {
  const TensorType x{DType::Bf16, {{"batch", 2}, {"seq", 8}, {"d", 4}}};
  const TensorType table{DType::Bf16, {{"v", 5}, {"d", 4}}};
  const Attributes attributes;
  const std::vector<TensorType> operands{x, table};
  EXPECT_DOUBLE_EQ(moved_logits({OpKind::output_loss_grad, attributes, operands, {}}), 80);
  EXPECT_DOUBLE_EQ(moved_logits({OpKind::output_stats, attributes, operands, {}}), 40);
  EXPECT_DOUBLE_EQ(moved_logits({OpKind::sharded_loss_grad, attributes, operands, {}}), 40);
  EXPECT_DOUBLE_EQ(moved_logits({OpKind::matmul, attributes, operands, {}}), 0);
  EXPECT_DOUBLE_EQ(find_other_loss("tessera").passing, 0);
  EXPECT_GT(find_other_loss("megatron").passing, find_other_loss("compiled").passing);
}

// Two rows of eight entries of a stream of four: 64 entries.
TEST(OtherLayer, MegatronReadsAndWritesTheStreamBetweenItsProducts) {
  const TensorType x{DType::Bf16, {{"batch", 2}, {"seq", 8}, {"d", 4}}};
  const Attributes attributes;
  const std::vector<TensorType> one{x}, three{x, x, x}, sums{{DType::Fp32, x.dims}};
  const OtherLayer &ours = find_other_layer("tessera"), &megatron = find_other_layer("megatron");
  const auto moved = [&](const OtherLayer& layer, OpKind op, const std::vector<TensorType>& reads,
                         const std::vector<TensorType>& writes) {
    return moved_by_layer(layer, {op, attributes, reads, writes});
  };
  EXPECT_DOUBLE_EQ(moved(megatron, OpKind::layer_norm_grad, three, one), 13 * 64);
  EXPECT_DOUBLE_EQ(moved(megatron, OpKind::attention_grad, three, one), 16 * 64);
  EXPECT_DOUBLE_EQ(moved(megatron, OpKind::bias_add, three, one), -3 * 64);
  EXPECT_DOUBLE_EQ(moved(megatron, OpKind::layer_norm, one, one), 0);
  // A gradient of queries, keys or values that is added to the others; not a sum over microbatches.
  EXPECT_DOUBLE_EQ(moved(megatron, OpKind::matmul, three, one), -4 * 64);
  EXPECT_DOUBLE_EQ(moved(megatron, OpKind::matmul, three, sums), 0);
  for (const OpKind op : {OpKind::layer_norm_grad, OpKind::attention, OpKind::matmul})
    EXPECT_DOUBLE_EQ(moved(ours, op, three, one), 0);
}

TEST(OtherAttention, AKernelHasTheEfficiencyThatTheClusterGivesToItsName) {
  Cluster cluster = toy_cluster();
  cluster.efficiencies.push_back({.op = OpKind::attention, .source = "toy", .kernel = "slow"});
  cluster.efficiencies.back().curve = {.ceiling = 1, .memory = 1, .fill_seconds = 100};
  const Attention attention;
  const OpCall call = attention.call(OpKind::attention);
  const double own = KernelCost(cluster, {}).seconds(call);
  const double slow = KernelCost(cluster, {.attention = {.kernel = "slow"}}).seconds(call);
  EXPECT_GT(slow, 100);
  EXPECT_LT(own, 100);
  EXPECT_NO_THROW(check_attention(cluster, {.kernel = "slow"}));
  EXPECT_NO_THROW(check_attention(cluster, {.kernel = "unfused"}));
  EXPECT_THROW(check_attention(cluster, {.kernel = "fast"}), UserError);
}

TEST(KernelCost, EfficiencyIsThatOfAPointAndBetweenItsNeighbours) {
  const std::vector<EfficiencyPoint> points{{{100, 100, 100}, 0.2}, {{1000, 1000, 1000}, 0.8}};
  EXPECT_NEAR(interpolate(points, {100, 100, 100}), 0.2, 1e-6);
  EXPECT_NEAR(interpolate(points, {1000, 1000, 1000}), 0.8, 1e-6);
  const double low = interpolate(points, {200, 200, 200});
  const double high = interpolate(points, {500, 500, 500});
  EXPECT_LT(0.2, low);
  EXPECT_LT(low, high);
  EXPECT_LT(high, 0.8);
}

TEST(KernelCost, TheTableOfTheSameThreadsAndBusyRanksIsRead) {
  Cluster cluster = toy_cluster();
  cluster.device.cores = 2;
  cluster.efficiencies.push_back({OpKind::matmul, 1, 1, "toy", {{{10, 10, 10}, 1}}});
  cluster.efficiencies.push_back({OpKind::matmul, 1, 2, "toy", {{{10, 10, 10}, 0.5}}});
  cluster.efficiencies.push_back({OpKind::matmul, 2, 1, "toy", {{{10, 10, 10}, 0.25}}});
  const Product product;
  EXPECT_DOUBLE_EQ(KernelCost(cluster, {1, 1}).seconds(product.call()), 1.2);
  EXPECT_DOUBLE_EQ(KernelCost(cluster, {1, 2}).seconds(product.call()), 2.4);
  EXPECT_DOUBLE_EQ(KernelCost(cluster, {2, 1}).seconds(product.call()), 4.8);
}

TEST(KernelCost, RanksBeyondTheCoresTakeTurns) {
  Cluster cluster = toy_cluster();
  cluster.device.cores = 2;
  const Product product;
  EXPECT_DOUBLE_EQ(KernelCost(cluster, {1, 2}).seconds(product.call()), 1.2);
  EXPECT_DOUBLE_EQ(KernelCost(cluster, {1, 4}).seconds(product.call()), 2.4);
  EXPECT_DOUBLE_EQ(KernelCost(cluster, {1, 4}).total_peak(Arithmetic::Fp32), 2e9);
}

// x[16, 32] w[64, 32] in e4m3: 65,536 flops; 512, 2,048 and 2,048 bytes, and two scales.
struct Fp8Product {
  Attributes attributes{{"dtype", "bf16"}};
  std::vector<TensorType> operands{{DType::E4m3, {{"a", 16}, {"b", 32}}},
                                   {DType::E4m3, {{"c", 64}, {"b", 32}}},
                                   scalar(DType::Fp32),
                                   scalar(DType::Fp32)};
  std::vector<TensorType> results{{DType::Bf16, {{"a", 16}, {"c", 64}}}};

  OpCall call() const { return {OpKind::matmul_fp8, attributes, operands, results}; }
  double seconds(double fp8_peak) const {
    Cluster cluster = toy_cluster();
    cluster.device.peak_flops = {{Arithmetic::Bf16, {65.536, "toy"}},
                                 {Arithmetic::Fp8, {fp8_peak, "toy"}}};
    return KernelCost(cluster, {}).seconds(call());
  }
};

TEST(KernelCost, ProductsInFp8ReachAPeakOfTheirOwn) {
  const Fp8Product product;
  EXPECT_DOUBLE_EQ(product.seconds(131.072), 500);
  EXPECT_DOUBLE_EQ(product.seconds(1e9), (512.0 + 2048 + 2048 + 8) / 1000);
}

TEST(KernelCost, SizesThatTensorCoresDoNotTakeInFp8AreMultipliedInBf16) {
  Fp8Product product;
  product.operands[0].dims[0].size = product.results[0].dims[0].size = 8;
  EXPECT_DOUBLE_EQ(product.seconds(1e9), 500);
}

// Two experts with room for 6 rows of 10 each, times w[10, 20].
struct ExpertProduct {
  Attributes attributes{{"dtype", "same"}};
  std::vector<TensorType> operands{{DType::Fp32, {{"expert", 2}, {"slot", 6}, {"d", 10}}},
                                   {DType::Fp32, {{"expert", 2}, {"d", 10}, {"mlp", 20}}},
                                   {DType::Int32, {{"expert", 2}}}};
  std::vector<TensorType> results{{DType::Fp32, {{"expert", 2}, {"slot", 6}, {"mlp", 20}}}};

  OpCall call() const { return {OpKind::expert_matmul, attributes, operands, results}; }
};

TEST(KernelCost, ExpertsAreFoundByTheRowsOfOneOfThem) {
  const ExpertProduct product;
  EXPECT_EQ(kernel_size(product.call()), (std::array<double, 3>{6, 20, 10}));
  const std::vector<TensorType> operands{product.operands[0], product.results[0],
                                         product.operands[2]};
  const std::vector<TensorType> results{product.operands[1]};
  const OpCall gradient{OpKind::expert_matmul_dw, product.attributes, operands, results};
  EXPECT_EQ(kernel_size(gradient), (std::array<double, 3>{10, 20, 6}));
}

TEST(KernelCost, ExpertsWithoutATableAreLikeAMatmulOfAllTheirRows) {
  Cluster cluster = toy_cluster();
  const ExpertProduct product;
  const double whole = KernelCost(cluster, {}).seconds(product.call());
  cluster.efficiencies.push_back(
      {OpKind::matmul, 0, 0, "toy", {{{12, 20, 10}, 0.5}, {{6, 20, 10}, 0.125}}});
  EXPECT_NEAR(KernelCost(cluster, {}).seconds(product.call()), 2 * whole, 1e-4 * whole);
  cluster.efficiencies.push_back({OpKind::expert_matmul, 0, 0, "toy", {{{6, 20, 10}, 0.25}}});
  EXPECT_DOUBLE_EQ(KernelCost(cluster, {}).seconds(product.call()), 4 * whole);
}

TEST(KernelCost, ACoolDeviceMultipliesFasterButMovesBytesAsFast) {
  Cluster cluster = toy_cluster();
  cluster.device.cool_gain.value = 2;
  const Product product;
  EXPECT_DOUBLE_EQ(KernelCost(cluster, {.cool = true}).seconds(product.call()), 1.2);  // bytes
  cluster.device.peak_flops.front().second.value = 500;
  EXPECT_DOUBLE_EQ(KernelCost(cluster, {}).seconds(product.call()), 4);
  EXPECT_DOUBLE_EQ(KernelCost(cluster, {.cool = true}).seconds(product.call()), 2);
}

}  // namespace
}  // namespace tessera
