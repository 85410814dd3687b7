// SPDX-License-Identifier: Apache-2.0
#include "record/metrics.h"

#include <gtest/gtest.h>

#include <limits>

#include "core/testing/temporary_folder.h"
#include "core/testing/user_error_of.h"

namespace tessera {
namespace {

StepMetrics metrics_of(int64_t step) {
  return {.step = step,
          .loss = 0.1,
          .grad_norm = 1.0 / 3,
          .lr = 1e-3,
          .tokens = 2048 * step,
          .tokens_per_second = 12345.5,
          .mfu = 0.25,
          .hfu = 0.375,
          .step_seconds = 0.5,
          .split = {.compute_seconds = 0.25,
                    .exposed_communication_seconds = 0.125,
                    .bubble_seconds = 0.0625},
          .data_seconds = 0,
          .elapsed_seconds = 1.5,
          .peak_bytes = 1 << 20,
          .held_out_loss = std::nullopt};
}

TEST(Metrics, AreOneJsonObjectThatReadsBackToTheSameBits) {
  EXPECT_EQ(to_json_line(metrics_of(3)),
            R"({"step":3,"loss":0.1,"grad_norm":0.3333333333333333,"lr":0.001,"tokens":6144,)"
            R"("tokens_per_second":12345.5,"mfu":0.25,"hfu":0.375,"step_seconds":0.5,)"
            R"("compute_seconds":0.25,"exposed_communication_seconds":0.125,)"
            R"("bubble_seconds":0.0625,"data_seconds":0.0,"elapsed_seconds":1.5,)"
            R"("peak_bytes":1048576})");
}

TEST(Metrics, HoldTheHeldOutLossOnlyWhenItWasMeasured) {
  StepMetrics metrics = metrics_of(1);
  EXPECT_EQ(to_json_line(metrics).find("held_out_loss"), std::string::npos);
  metrics.held_out_loss = 2.5;
  EXPECT_TRUE(to_json_line(metrics).ends_with(R"("held_out_loss":2.5})"));
}

TEST(Metrics, WriteALossThatIsNotANumberAsNull) {
  StepMetrics metrics = metrics_of(1);
  metrics.loss = std::numeric_limits<double>::quiet_NaN();
  EXPECT_NE(to_json_line(metrics).find(R"("loss":null)"), std::string::npos);
}

TEST(MetricsWriter, ReplacesAnOldFileUnlessResumed) {
  const TemporaryFolder folder;
  const auto path = folder.write("metrics.jsonl", "old\n");
  MetricsWriter(path).write(metrics_of(1));
  EXPECT_EQ(read_text(path), to_json_line(metrics_of(1)) + "\n");
}

TEST(MetricsWriter, KeepsLinesUpToTheResumedStepAndGoesOnBehindThem) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "metrics.jsonl";
  {
    MetricsWriter writer(path);
    for (int64_t step = 1; step <= 5; ++step) writer.write(metrics_of(step));
  }
  MetricsWriter(path, 2).write(metrics_of(3));
  std::string expected;
  for (int64_t step = 1; step <= 3; ++step) expected += to_json_line(metrics_of(step)) + "\n";
  EXPECT_EQ(read_text(path), expected);
}

TEST(MetricsWriter, DropsALineThatACrashCutShort) {
  const TemporaryFolder folder;
  const std::string first = to_json_line(metrics_of(1)) + "\n";
  const auto path = folder.write("metrics.jsonl", first + "not json\n" + R"({"step":2,"lo)");
  MetricsWriter(path, 5).write(metrics_of(6));
  EXPECT_EQ(read_text(path), first + to_json_line(metrics_of(6)) + "\n");
}

TEST(MetricsWriter, ReadsNoMoreOfALongRunThanItDrops) {
  const TemporaryFolder folder;
  const std::string kept = "what is not read\n" + to_json_line(metrics_of(1)) + "\n";
  const auto path = folder.write("metrics.jsonl", kept + to_json_line(metrics_of(2)) + "\n");
  MetricsWriter(path, 1).write(metrics_of(2));
  EXPECT_EQ(read_text(path), kept + to_json_line(metrics_of(2)) + "\n");
  MetricsWriter(path, 0).write(metrics_of(1));
  EXPECT_EQ(read_text(path), to_json_line(metrics_of(1)) + "\n");
}

TEST(MetricsWriter, ResumesWhereNoMetricsWereWrittenBefore) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "metrics.jsonl";
  MetricsWriter(path, 5).write(metrics_of(6));
  EXPECT_EQ(read_text(path), to_json_line(metrics_of(6)) + "\n");
}

TEST(MetricsWriter, SaysWhenTheFolderIsMissingAndWhenTheDiskIsFull) {
  EXPECT_EQ(user_error_of([] { MetricsWriter writer("/nonexistent/metrics.jsonl"); }),
            "cannot write /nonexistent/metrics.jsonl: no such file or directory");
  EXPECT_EQ(user_error_of([] { MetricsWriter("/dev/full").write(metrics_of(1)); }),
            "cannot write /dev/full: no space left on device");
}

}  // namespace
}  // namespace tessera
