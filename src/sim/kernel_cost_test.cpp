// SPDX-License-Identifier: Apache-2.0
#include "sim/kernel_cost.h"

#include <gtest/gtest.h>

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
