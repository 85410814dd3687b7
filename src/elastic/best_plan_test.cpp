// SPDX-License-Identifier: Apache-2.0
#include "elastic/best_plan.h"

#include <gtest/gtest.h>

#include <chrono>

#include "core/testing/user_error_of.h"
#include "system/seconds_since.h"

namespace tessera {
namespace {

Config small_config(std::vector<std::string> more = {}) {
  std::vector<std::string> settings{
      "mesh=pp=2,dp=2,tp=2",   "model.layers=4",       "model.width=32",        "model.heads=4",
      "model.kv_heads=4",      "model.mlp_size=64",    "train.batch=8",         "train.seq=32",
      "elastic.least_ranks=1", "train.microbatches=4", "elastic.cluster=laptop"};
  settings.insert(settings.end(), more.begin(), more.end());
  return parse_config("", "test", settings);
}

std::string value_of(const ElasticPlan& plan, std::string_view key) {
  for (const auto& [name, value] : plan.settings)
    if (name == key) return value;
  return "missing";
}

TEST(BestPlan, FitsWhatIsLeftWithinTheTimeThatARestartHas) {
  BestPlans plans(small_config(), false);
  for (int available = 8; available >= 1; --available) {
    const auto begin = std::chrono::steady_clock::now();
    const std::optional<ElasticPlan>& plan = plans.on(available, 1);
    ASSERT_TRUE(plan) << available;
    EXPECT_LE(plan->ranks, available);
    EXPECT_GT(plan->step_seconds, 0);
    EXPECT_LT(seconds_since(begin), 20) << "a busy machine; one or two seconds are usual";
  }
}

// The plan's own keys alone may change: nothing of [model], [data] or the batch.
TEST(BestPlan, KeepsTheBatchAndTheNumbers) {
  BestPlans plans(small_config(), false);
  const std::optional<ElasticPlan>& plan = plans.on(5, 2);
  ASSERT_TRUE(plan);
  EXPECT_GE(plan->ranks, 2);
  for (const auto& [key, value] : plan->settings)
    EXPECT_TRUE(key.starts_with("plan.") || key == "train.microbatches") << key;
  EXPECT_EQ(value_of(*plan, "plan.shard_axes"), "auto");
  EXPECT_EQ(value_of(*plan, "plan.memory"), "missing");
}

// Where experts are balanced over a microbatch, microbatches are part of the loss.
TEST(BestPlan, KeepsMicrobatchesThatTheLossDependsOn) {
  BestPlans plans(
      small_config({"model.experts=4", "model.expert_mlp_size=32", "model.balance_loss=0.01",
                    "model.balance_scope=microbatch", "train.microbatches=2"}),
      false);
  for (const int available : {8, 4, 2}) {
    const std::optional<ElasticPlan>& plan = plans.on(available, 1);
    ASSERT_TRUE(plan);
    EXPECT_EQ(value_of(*plan, "train.microbatches"), "2");
  }
}

TEST(BestPlan, ThereIsNoneForFewerRanksThanAreAllowed) {
  BestPlans plans(small_config(), false);
  EXPECT_FALSE(plans.on(3, 4));
  EXPECT_FALSE(plans.on(0, 1));
}

TEST(BestPlan, ACalculationInAnotherFormatThanTheClusterHasIsRefused) {
  EXPECT_NE(user_error_of([] {
              BestPlans(small_config({"elastic.cluster=tpu-v5p", "train.precision=fp64"}), false);
            }).find("fp64"),
            std::string::npos);
}

}  // namespace
}  // namespace tessera
