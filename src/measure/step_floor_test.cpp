// SPDX-License-Identifier: Apache-2.0
#include "measure/step_floor.h"

#include <gtest/gtest.h>

#include "core/statistics.h"
#include "exec/testing/openblas.h"
#include "models/model_size.h"
#include "models/presets.h"

namespace tessera {
namespace {

double total_flops(const std::vector<FloorMatmul>& matmuls) {
  double flops = 0;
  for (const FloorMatmul& matmul : matmuls) flops += matmul.flops();
  return flops;
}

// Counted another way: from the parameters of the graph, with one more matmul in attention, because
// its backward computes the scores again.
double expected_flops(const ModelConfig& config, BatchShape shape) {
  const FlopsPerToken per_token = flops_per_token(config, shape.seq);
  const double attention = per_token.full - per_token.causal;
  return static_cast<double>(shape.batch * shape.seq) * (per_token.causal + attention / 6);
}

TEST(StepFloor, CountsTheFlopsOfTheMathsForEveryTransformerFamily) {
  const BatchShape shape{.batch = 2, .seq = 64};
  for (const char* name : {"tiny", "gpt2-124m", "llama3-1b", "qwen3-0.6b"}) {
    const ModelConfig& config = find_preset(name).config;
    EXPECT_DOUBLE_EQ(total_flops(floor_matmuls(config, shape, 1)), expected_flops(config, shape))
        << name;
  }
}

TEST(StepFloor, SparesAnMlpTheGradientOfItsInput) {
  const ModelConfig& config = find_preset("mlp").config;
  const double weight_flops = 2.0 * 128 * 1024 * 1024;
  EXPECT_DOUBLE_EQ(total_flops(floor_matmuls(config, {.batch = 128}, 1)),
                   (4 * 3 - 1) * weight_flops);
}

TEST(StepFloor, DoesTheSameWorkInMicrobatches) {
  const ModelConfig& config = find_preset("gpt2-124m").config;
  EXPECT_DOUBLE_EQ(total_flops(floor_matmuls(config, {.batch = 1, .seq = 64}, 4)),
                   total_flops(floor_matmuls(config, {.batch = 4, .seq = 64}, 1)));
}

TEST(StepFloor, LaysOperandsOutAsTheMathsDoes) {
  const auto matmuls = floor_matmuls(find_preset("gpt2-124m").config, {4, 64}, 1);
  const auto shape_of = [&](std::string_view name) {
    for (const FloorMatmul& matmul : matmuls)
      if (matmul.name == name) return matmul.shape;
    return MatmulShape{};
  };
  EXPECT_EQ(shape_of("up forward"), (MatmulShape{256, 3072, 768, false, false}));
  EXPECT_EQ(shape_of("up input_grad"), (MatmulShape{256, 768, 3072, false, true}));
  EXPECT_EQ(shape_of("up weight_grad"), (MatmulShape{768, 3072, 256, true, false}));
  EXPECT_EQ(shape_of("head forward"), (MatmulShape{256, 50257, 768, false, true}));
  EXPECT_EQ(shape_of("head input_grad"), (MatmulShape{256, 768, 50257, false, false}));
  EXPECT_EQ(shape_of("head weight_grad"), (MatmulShape{50257, 768, 256, true, false}));
}

TEST(StepFloor, AddsUpTheMeasuredSecondsOfEveryMatmul) {
  SKIP_WITHOUT_OPENBLAS();
  const ModelConfig small{.family = Family::Mlp, .layers = 3, .width = 32, .mlp_size = 48};
  StepFloor floor(floor_matmuls(small, {.batch = 8}, 1), 2);
  floor.measure_round();
  double seconds = 0;
  for (const FloorRate& rate : floor.rates()) {
    EXPECT_GT(rate.seconds, 0) << rate.matmul.name;
    seconds += rate.matmul.count * rate.seconds;
  }
  EXPECT_DOUBLE_EQ(floor.seconds(), seconds);
}

TEST(StepFloor, TakesTheMiddleOfItsRounds) {
  EXPECT_EQ(median({3, 100, 1}), 3);
  EXPECT_EQ(median({4, 1, 2, 100}), 3);
}

}  // namespace
}  // namespace tessera
