// SPDX-License-Identifier: Apache-2.0
// Every rule on both sides of its threshold, and without its figures.
#include "report/diagnosis.h"

#include <gtest/gtest.h>

#include "report/testing/made_run.h"

namespace tessera {
namespace {

Finding found(const RunRecord& run, const std::string& rule) {
  for (Finding& finding : diagnose(run, figures_of(run)))
    if (finding.rule == rule) return finding;
  ADD_FAILURE() << "there is no rule " << rule;
  return {};
}

Verdict verdict(const RunRecord& run, const std::string& rule) { return found(run, rule).verdict; }

void set_all(RunRecord& run, double StepTimes::*part, double value) {
  for (StepRecord& step : run.steps) step.times.*part = value;
}

TEST(Diagnosis, CommunicationIsExposedAboveTenPercent) {
  RunRecord run = made_run();
  EXPECT_EQ(verdict(run, "exposed_communication"), Verdict::Fine);
  set_all(run, &StepTimes::compute_seconds, 0.53);
  set_all(run, &StepTimes::exposed_communication_seconds, 0.12);
  const Finding finding = found(run, "exposed_communication");
  EXPECT_EQ(finding.verdict, Verdict::Problem);
  EXPECT_NE(finding.answer.find("12.0 % of the time"), std::string::npos) << finding.answer;
  EXPECT_NE(finding.advice.find("batch"), std::string::npos);  // there is a dp axis
  EXPECT_EQ(finding.advice.find("tp"), std::string::npos);     // and no tp
}

TEST(Diagnosis, ABubbleIsComparedWithTheSchedulesOwn) {
  RunRecord run = made_run();
  Finding finding = found(run, "bubble");
  EXPECT_EQ(finding.verdict, Verdict::Problem);
  EXPECT_NE(finding.advice.find("more microbatches"), std::string::npos);
  EXPECT_EQ(finding.advice.find("unequal"), std::string::npos) << finding.advice;
  run.facts->schedule_bubble = 0.05;
  finding = found(run, "bubble");
  EXPECT_NE(finding.advice.find("unequal"), std::string::npos);
  EXPECT_EQ(finding.advice.find("more microbatches"), std::string::npos) << finding.advice;
  set_all(run, &StepTimes::bubble_seconds, 0.05);
  EXPECT_EQ(verdict(run, "bubble"), Verdict::Fine);
}

TEST(Diagnosis, RanksThatTakeTurnsOnCoresAreANoteAndNoProblem) {
  RunRecord run = made_run();
  run.facts->device_unit = "cores";
  run.facts->device_count = 2;
  set_all(run, &StepTimes::exposed_communication_seconds, 0.3);
  for (const char* rule : {"exposed_communication", "bubble"})
    EXPECT_TRUE(found(run, rule).verdict == Verdict::Note &&
                found(run, rule).answer.starts_with("4 ranks take turns on 2 cores"))
        << found(run, rule).answer;
  run.facts->device_count = 4;
  for (const char* rule : {"exposed_communication", "bubble"})
    EXPECT_TRUE(found(run, rule).verdict == Verdict::Problem &&
                found(run, rule).answer.find("take turns") == std::string::npos)
        << rule;
}

TEST(Diagnosis, AdviceIsNotWhatThePlanAlreadyDoes) {
  RunRecord run = made_run();
  set_all(run, &StepTimes::exposed_communication_seconds, 0.3);
  run.config->mesh = {{"pp", 2}, {"tp", 2}};
  EXPECT_NE(found(run, "exposed_communication").advice.find("sequence_parallel"),
            std::string::npos);
  EXPECT_NE(found(run, "bubble").advice.find("interleaved_1f1b"), std::string::npos);
  run.config->plan.sequence_parallel = true;
  run.config->plan.schedule = "interleaved_1f1b";
  EXPECT_EQ(found(run, "exposed_communication").advice.find("sequence_parallel"),
            std::string::npos);
  EXPECT_EQ(found(run, "bubble").advice.find("interleaved_1f1b"), std::string::npos);
}

TEST(Diagnosis, SmallMatmulsDependOnTheDevice) {
  RunRecord run = made_run();
  EXPECT_EQ(verdict(run, "matmul_size"), Verdict::Fine);
  run.facts->matmul_side = 128;
  EXPECT_EQ(verdict(run, "matmul_size"), Verdict::Problem);
  run.facts->device_unit = "cores";
  EXPECT_EQ(verdict(run, "matmul_size"), Verdict::Fine);
}

TEST(Diagnosis, TheInputStallsAboveTwoPercent) {
  RunRecord run = made_run();
  EXPECT_EQ(verdict(run, "input"), Verdict::Fine);
  set_all(run, &StepTimes::data_seconds, 0.03);
  EXPECT_EQ(verdict(run, "input"), Verdict::Problem);
}

TEST(Diagnosis, CheckpointsCostTooMuchAboveFivePercentAndTheAdviceIsACadence) {
  RunRecord run = made_run();
  EXPECT_EQ(verdict(run, "checkpoints"), Verdict::Fine);
  run.events.insert(run.events.begin() + 1, {.kind = "checkpoint", .step = 5, .seconds = 0.9});
  const Finding finding = found(run, "checkpoints");
  EXPECT_EQ(finding.verdict, Verdict::Problem);
  EXPECT_NE(finding.advice.find("--save-every 20"), std::string::npos) << finding.advice;
}

TEST(Diagnosis, LowMfuNamesTheLargestLoss) {
  RunRecord run = made_run();
  EXPECT_EQ(verdict(run, "mfu"), Verdict::Fine);
  for (StepRecord& step : run.steps) step.mfu = 0.29;
  const Finding finding = found(run, "mfu");
  EXPECT_EQ(finding.verdict, Verdict::Problem);
  EXPECT_NE(finding.advice.find("the bubble: 20.0 %"), std::string::npos) << finding.advice;
}

TEST(Diagnosis, MemoryMustFitAndNotBeLeftFreeByRecomputation) {
  RunRecord run = made_run();
  EXPECT_EQ(verdict(run, "memory"), Verdict::Fine);
  run.facts->recompute_flops = 250;
  EXPECT_EQ(verdict(run, "memory"), Verdict::Fine);  // a tenth is free
  run.facts->device_memory_bytes = 2000;
  EXPECT_EQ(verdict(run, "memory"), Verdict::Problem);
  run.facts->device_memory_bytes = 800;
  EXPECT_NE(found(run, "memory").advice.find("does not fit"), std::string::npos);
}

TEST(Diagnosis, StallsAndFailuresAreProblems) {
  RunRecord run = made_run();
  EXPECT_EQ(verdict(run, "stalls"), Verdict::Fine);
  EXPECT_EQ(verdict(run, "failures"), Verdict::Fine);
  run.events.insert(run.events.begin() + 1,
                    {{.kind = "end", .step = 4}, {.kind = "start", .step = 4}});
  EXPECT_EQ(found(run, "failures").answer, "the run was resumed once and ended as planned");
  run.steps[6].step_seconds = 9;
  run.events.back() = {.kind = "failure", .step = 7, .text = "rank 1 is late"};
  EXPECT_EQ(verdict(run, "stalls"), Verdict::Problem);
  EXPECT_EQ(verdict(run, "failures"), Verdict::Problem);
}

TEST(Diagnosis, AFailureThatWasResumedIsNotedWithoutAdvice) {
  RunRecord run = killed_run(1, 0.5);
  const Finding finding = found(run, "failures");
  EXPECT_EQ(finding.verdict, Verdict::Note);
  EXPECT_EQ(finding.answer,
            "the run was interrupted after step 5 (rank 0 was killed) and resumed from step 4: 1 "
            "step computed again, 500 ms lost; it ended as planned");
  EXPECT_EQ(finding.advice, "");
}

// Two stages of two ranks: unequal stages are no slow rank.
TEST(Diagnosis, ARankIsSlowAboveTenPercentOfItsStage) {
  RunRecord run = made_run();
  const auto record = [&](double of_rank_three) {
    run.ranks.assign(2, {.step = 10,
                         .steps = 5,
                         .ranks = 4,
                         .rank = {0, 1, 2, 3},
                         .compute_seconds = {0.2, 0.2, 0.6, of_rank_three},
                         .exposed_communication_seconds = {0, 0, 0, 0},
                         .bubble_seconds = {0, 0, 0, 0}});
  };
  record(0.63);
  EXPECT_EQ(verdict(run, "slow_rank"), Verdict::Fine);
  record(0.75);
  Finding finding = found(run, "slow_rank");
  EXPECT_EQ(finding.verdict, Verdict::Problem);
  EXPECT_EQ(finding.answer,
            "rank 3 computes 25.0 % longer than the median of the 2 ranks of its stage, 150 ms a "
            "step (a problem above 10.0 %)");
  EXPECT_NE(finding.advice.find("rank 3"), std::string::npos);
  run.facts->device_unit = "cores";
  run.facts->device_count = 2;
  EXPECT_EQ(verdict(run, "slow_rank"), Verdict::Note);
  run.ranks.clear();
  EXPECT_EQ(verdict(run, "slow_rank"), Verdict::Unknown);
}

TEST(Diagnosis, SaysWhatWasNotRecordedAndJudgesNothingThen) {
  RunRecord run{.folder = "old"};
  for (int64_t step = 1; step <= 9; ++step)
    run.steps.push_back({.step = step, .loss = 3.0, .step_seconds = 1.0});
  for (const Finding& finding : diagnose(run, figures_of(run))) {
    if (finding.rule == "stalls") continue;  // step times are enough for it
    EXPECT_EQ(finding.verdict, Verdict::Unknown) << finding.rule << ": " << finding.answer;
    EXPECT_TRUE(finding.advice.empty()) << finding.rule;
  }
}

}  // namespace
}  // namespace tessera
