// SPDX-License-Identifier: Apache-2.0
#include "sim/load_model.h"

#include <gtest/gtest.h>

#include <cmath>

#include "config/compile_step.h"
#include "config/config.h"
#include "core/error.h"
#include "sim/simulate.h"

namespace tessera {
namespace {

TEST(LoadModel, IsReadFromItsName) {
  EXPECT_EQ(parse_load_model("uniform").kind, LoadModel::Kind::Uniform);
  EXPECT_EQ(parse_load_model("worst").kind, LoadModel::Kind::Worst);
  EXPECT_EQ(parse_load_model("lognormal:0.5").sigma, 0.5);
  for (const char* text : {"", "lognormal", "lognormal:", "lognormal:x", "lognormal:-1",
                           "lognormal:0.5s", "lognormal:9", "lognormal:nan", "even"})
    EXPECT_THROW(parse_load_model(text), UserError) << text;
}

TEST(LoadModel, OfOneRankIsTheMean) {
  for (const char* text : {"uniform", "worst", "lognormal:1"})
    EXPECT_EQ(fullest_rank(parse_load_model(text), 8, 1), 1) << text;
  EXPECT_EQ(fullest_rank(parse_load_model("uniform"), 8, 8), 1);
}

// Computed by another program with other random numbers, to two digits.
TEST(LoadModel, OfLognormalLoadsIsTheExpectedMaximum) {
  struct Case {
    int experts, ranks;
    double sigma, expected;
  };
  for (const Case& c : {Case{128, 8, 0.25, 1.10}, Case{128, 8, 0.5, 1.20}, Case{128, 8, 1, 1.53},
                        Case{128, 32, 0.25, 1.29}, Case{128, 32, 1, 2.96}, Case{256, 64, 1, 3.57},
                        Case{8, 8, 0.25, 1.39}, Case{8, 8, 0.5, 1.85}, Case{8, 8, 1, 2.95}})
    EXPECT_NEAR(
        fullest_rank({.kind = LoadModel::Kind::Lognormal, .sigma = c.sigma}, c.experts, c.ranks),
        c.expected, 0.04 * c.expected)
        << c.experts << " experts, " << c.ranks << " ranks, sigma " << c.sigma;
}

TEST(LoadModel, OfMeasuredCountsIsTheMeanOverLayers) {
  // Ranks have 40 and 20 of 60 rows, then 30 and 30.
  const LoadModel load{.kind = LoadModel::Kind::Measured,
                       .counts = {{10, 30, 15, 5}, {0, 30, 30, 0}}};
  EXPECT_DOUBLE_EQ(fullest_rank(load, 4, 2), (40.0 / 30 + 1) / 2);
  EXPECT_DOUBLE_EQ(fullest_rank(load, 4, 4), (30.0 / 15 + 2) / 2);
  EXPECT_THROW(fullest_rank(load, 8, 2), UserError);
}

// Stages without experts tell of no need, by an op without operands.
TEST(LoadModel, IsSimulatedOnAPipelineWithLittleRoom) {
  const std::vector<std::string> sets{"model.preset=\"tiny-moe\"", "mesh=\"pp=2,ep=2\"",
                                      "train.microbatches=4", "plan.expert_room=\"1.5\""};
  const Compiled compiled = compile(resolve(parse_config("", "test", sets)));
  EXPECT_GT(simulate(compiled.programs, load_cluster("dgx-h100"), {}).step_seconds, 0);
}

TEST(LoadModel, SlowsTheStepOfASharedMixtureAlone) {
  const auto seconds = [](const std::string& mesh, const std::string& load) {
    const std::vector<std::string> sets{"model.preset=\"qwen3-30b-a3b\"",
                                        "model.layers=2",
                                        "train.batch=16",
                                        "train.seq=1024",
                                        "train.precision=\"bf16\"",
                                        "mesh=\"" + mesh + "\""};
    const Compiled compiled = compile(resolve(parse_config("", "test", sets)));
    return simulate(compiled.programs, load_cluster("dgx-h100"), {.load = parse_load_model(load)})
        .step_seconds;
  };
  const double even = seconds("ep=8", "uniform"), skewed = seconds("ep=8", "lognormal:1"),
               worst = seconds("ep=8", "worst");
  EXPECT_LT(even, skewed);
  EXPECT_LT(skewed, worst);
  EXPECT_EQ(seconds("ep=8", "lognormal:0"), even);
  EXPECT_EQ(seconds("dp=8", "worst"), seconds("dp=8", "uniform"));
}

}  // namespace
}  // namespace tessera
