// SPDX-License-Identifier: Apache-2.0
#include "report/comparison.h"

#include <gtest/gtest.h>

#include "report/testing/made_run.h"

namespace tessera {
namespace {

Report report_of(RunRecord record) {
  Report report{.record = std::move(record)};
  report.figures = figures_of(report.record);
  return report;
}

TEST(Comparison, PartsExplainAllOfTheDifference) {
  RunRecord slower = made_run();
  for (StepRecord& step : slower.steps) {
    step.step_seconds = 1.3;
    step.times.compute_seconds = 0.9;
    step.times.bubble_seconds = 0.3;
    step.elapsed_seconds *= 1.4;
  }
  const Comparison comparison = compare(report_of(made_run()), report_of(slower));
  double sum = 0;
  for (const PartDifference& part : comparison.parts) sum += part.explains.value_or(0);
  EXPECT_NEAR(sum, 1, 1e-9);
  EXPECT_NEAR(*comparison.parts[0].explains, 0.75, 1e-9);  // 0.3 of 0.4 s
  EXPECT_NEAR(*comparison.parts[2].explains, 0.25, 1e-9);
  EXPECT_NE(to_markdown(document_of(comparison)).find("compute +300 ms, bubble +100 ms"),
            std::string::npos);
}

TEST(Comparison, NoPartExplainsMoreThanAll) {
  RunRecord faster = made_run();
  for (StepRecord& step : faster.steps) {
    step.times.compute_seconds -= 0.3;
    step.times.bubble_seconds += 0.2;
    step.step_seconds -= 0.1;
  }
  const Comparison comparison = compare(report_of(made_run()), report_of(faster));
  EXPECT_NEAR(*comparison.parts[0].explains, 1, 1e-9);  // 0.3 s of 0.3, though the step lost 0.1
  EXPECT_FALSE(comparison.parts[2].explains.has_value());
  EXPECT_NE(to_markdown(document_of(comparison)).find("100 ms less than one of A"),
            std::string::npos);
}

TEST(Comparison, NamesTheSettingsThatDifferAndNoOthers) {
  RunRecord other = made_run();
  other.config->train.batch = 99;
  other.config->run.out = "elsewhere";
  other.facts->device = "slide rule";
  const Comparison comparison = compare(report_of(made_run()), report_of(other));
  ASSERT_EQ(comparison.settings.size(), 2u);
  EXPECT_EQ(comparison.settings[0].key, "device");
  EXPECT_EQ(comparison.settings[1].key, "train.batch");
  EXPECT_EQ(comparison.settings[1].b, "99");
}

TEST(Comparison, LossesAreComparedAtEqualSteps) {
  RunRecord other = made_run();
  other.steps.erase(other.steps.begin());  // has no step 1
  for (StepRecord& step : other.steps) step.loss += 0.25;
  other.steps[2].loss += 1;  // step 4
  const Comparison comparison = compare(report_of(made_run()), report_of(other));
  ASSERT_TRUE(comparison.loss.has_value());
  EXPECT_EQ(comparison.loss->steps, 9);
  EXPECT_EQ(comparison.loss->last_step, 10);
  EXPECT_NEAR(comparison.loss->last, 0.25, 1e-12);
  EXPECT_NEAR(comparison.loss->largest, 1.25, 1e-12);
  EXPECT_EQ(comparison.loss->largest_step, 4);
  EXPECT_NEAR(comparison.loss->mean, 0.25 + 1.0 / 9, 1e-12);
}

TEST(Comparison, OfARunWithItselfExplainsNothing) {
  const Comparison comparison = compare(report_of(made_run()), report_of(made_run()));
  EXPECT_TRUE(comparison.settings.empty());
  for (const PartDifference& part : comparison.parts) EXPECT_FALSE(part.explains.has_value());
  EXPECT_NE(to_markdown(document_of(comparison)).find("takes as long as"), std::string::npos);
}

TEST(Comparison, WithASimulationLacksItsLoss) {
  RunRecord simulated = made_run(1);
  simulated.facts->source = "simulate";
  simulated.steps[0].loss = kUnknown;
  const Comparison comparison = compare(report_of(made_run()), report_of(simulated));
  EXPECT_FALSE(comparison.loss.has_value());
  EXPECT_FALSE(comparison.parts.empty());
}

}  // namespace
}  // namespace tessera
