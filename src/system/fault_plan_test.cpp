// SPDX-License-Identifier: Apache-2.0
#include "system/fault_plan.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <chrono>

#include "core/testing/user_error_of.h"

namespace tessera {
namespace {

TEST(FaultPlan, StrikesItsRankPhaseStepAndTimeAlone) {
  FaultPlan faults("rank=1,phase=write,step=3,nth=2,action=no_space;phase=fsync,action=io_error");
  EXPECT_EQ(faults.at(FaultPhase::Write, 1, 3), 0);
  EXPECT_EQ(faults.at(FaultPhase::Write, 0, 3), 0);
  EXPECT_EQ(faults.at(FaultPhase::Rename, 1, 3), 0);
  EXPECT_EQ(faults.at(FaultPhase::Write, 1, 3), ENOSPC);
  EXPECT_EQ(faults.at(FaultPhase::Write, 1, 3), 0);
  EXPECT_EQ(faults.at(FaultPhase::Write, 1, 4), 0);
  EXPECT_EQ(faults.at(FaultPhase::Fsync, 7, 9), EIO);
}

TEST(FaultPlan, IsNothingWhereNobodyAsks) {
  EXPECT_EQ(fault_at(nullptr, FaultPhase::Load, 0, 0), 0);
}

TEST(FaultPlan, WaitsInEachStepAndFailsNothing) {
  FaultPlan slow("phase=step,action=wait,milliseconds=20");
  for (const int64_t step : {1, 2}) {
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_EQ(slow.at(FaultPhase::Step, 0, step), 0);
    EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(20));
  }
}

TEST(FaultPlanDeathTest, KillsAndAborts) {
  FaultPlan kill("phase=update,action=kill"), abort("phase=update,action=abort");
  EXPECT_EXIT(kill.at(FaultPhase::Update, 0, 1), testing::KilledBySignal(SIGKILL), "");
  EXPECT_EXIT(abort.at(FaultPhase::Update, 0, 1), testing::KilledBySignal(SIGABRT), "");
}

TEST(FaultPlan, SaysWhatItDoesNotUnderstand) {
  const auto error = [](const char* text) { return user_error_of([&] { FaultPlan plan(text); }); };
  EXPECT_EQ(error("phase=writ"),
            "phase of a fault is writ, but must be load, forward, collective, backward, update, "
            "snapshot, "
            "write, fsync, rename, manifest, prune, exit or step");
  EXPECT_EQ(error("phase=write,action=eat"),
            "action of a fault is eat, but must be kill, stop, abort, hang, wait, no_space, "
            "io_error, rot, nan or "
            "skip");
  EXPECT_EQ(error("phase=write,step=x"),
            "step of a fault is x, but must be a whole number of at least 0");
  EXPECT_EQ(error("rank=1"), "the fault rank=1 has no phase");
  EXPECT_EQ(error("phase=write,when=now"), "a fault has no when");
}

}  // namespace
}  // namespace tessera
