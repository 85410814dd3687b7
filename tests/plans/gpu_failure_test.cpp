// SPDX-License-Identifier: Apache-2.0
// Faults on purpose in runs on a GPU: what they leave is what ranks on the CPU leave.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "exec/device.h"
#include "train/trainer.h"

namespace tessera {
namespace {

// The same in the process of a death test and in the one that looks at what it left.
std::filesystem::path folder_of(const std::string& run) {
  return std::filesystem::path(testing::TempDir()) / "tessera_gpu_failure" / run;
}

TrainSummary train(const std::string& run, const std::string& fault,
                   std::vector<std::string> more) {
  std::vector<std::string> settings{"model.preset=tiny",  "train.batch=4",
                                    "train.seq=32",       "train.steps=4",
                                    "train.eval_every=0", "train.sample_every=0",
                                    "mesh=dp=2",          "run.device=cuda",
                                    "run.peak_gflops=1",  "run.out=" + folder_of(run).string()};
  settings.insert(settings.end(), more.begin(), more.end());
  FaultPlan faults(fault);
  return Trainer(load_config({}, settings), {.overwrite = true, .quiet = true, .faults = &faults})
      .run();
}

std::string report_of(const std::string& run) {
  std::ifstream file(folder_of(run) / "failure.txt");
  return {std::istreambuf_iterator<char>(file), {}};
}

class GpuFailure : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = why_missing(DeviceKind::Cuda); !why.empty()) GTEST_SKIP() << why;
    GTEST_FLAG_SET(death_test_style, "threadsafe");
  }
};
using GpuFailureDeathTest = GpuFailure;

TEST_F(GpuFailureDeathTest, ARankThatHangsIsNamedAndTheProcessEnds) {
  for (const std::string mesh : {"mesh=dp=2", "mesh=tp=2"}) {
    std::filesystem::remove_all(folder_of("hang"));
    EXPECT_EXIT(train("hang", "rank=1,phase=collective,step=2,action=hang",
                      {"run.deadline_seconds=5", mesh}),
                testing::ExitedWithCode(3), "error: rank 1 hangs in .*nothing has moved for 5 s");
    const std::string report = report_of("hang");
    EXPECT_TRUE(report.starts_with("rank 1 hangs in ")) << report;
    EXPECT_NE(report.find("rank 1 waits for nobody"), std::string::npos) << report;
    EXPECT_NE(report.find(", at step 1"), std::string::npos) << report;
  }
}

TEST_F(GpuFailureDeathTest, AFaultThatKillsStrikesInsideAStep) {
  EXPECT_EXIT(train("kill", "rank=1,phase=backward,step=2,action=kill", {}),
              testing::KilledBySignal(SIGKILL), "");
}

TEST_F(GpuFailure, ANumberThatIsNotFiniteIsNamed) {
  try {
    train("nan", "rank=1,phase=backward,step=3,nth=2,action=nan", {});
    FAIL() << "nothing was thrown";
  } catch (const UserError& error) {
    EXPECT_NE(error.message().find("step 3: the loss is "), std::string::npos) << error.message();
    EXPECT_NE(error.message().find("every value is finite when the step is computed again"),
              std::string::npos)
        << error.message();
  }
  try {
    train("overflow", "phase=exit,step=99",
          {"train.learning_rate=1e18", "train.warmup_steps=0", "train.clip_norm=0"});
    FAIL() << "nothing was thrown";
  } catch (const UserError& error) {
    EXPECT_NE(error.message().find("the first that is not finite is %"), std::string::npos)
        << error.message();
    EXPECT_NE(error.message().find(", forward, microbatch 0, rank "), std::string::npos)
        << error.message();
  }
}

TEST_F(GpuFailure, ASkippedStepLeavesTheRunGoingOn) {
  const TrainSummary summary =
      train("skip", "rank=0,phase=backward,step=2,nth=1,action=nan", {"train.on_non_finite=skip"});
  EXPECT_EQ(summary.steps, 4);
  const auto skipped = [](const std::string& warning) {
    return warning.find("the step is skipped") != std::string::npos;
  };
  EXPECT_EQ(std::ranges::count_if(summary.warnings, skipped), 1);
}

}  // namespace
}  // namespace tessera
