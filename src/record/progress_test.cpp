// SPDX-License-Identifier: Apache-2.0
#include "record/progress.h"

#include <gtest/gtest.h>

#include "core/quantities.h"
#include "core/testing/temporary_folder.h"

namespace tessera {
namespace {

StepRecord metrics_of(int64_t step) {
  StepRecord metrics;
  metrics.step = step;
  metrics.loss = 2.34567;
  metrics.tokens_per_second = 18321;
  metrics.mfu = 0.41;
  metrics.peak_bytes = 120'000'000;
  metrics.step_seconds = 2;
  return metrics;
}

// What a run of three steps leaves on the stream.
std::string shown(bool live, int64_t log_every, bool with_note = false) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "progress.txt";
  std::FILE* stream = std::fopen(path.c_str(), "w");
  {
    Progress progress({.stream = stream, .live = live, .total_steps = 3, .log_every = log_every});
    for (int64_t step = 1; step <= 3; ++step) {
      progress.step(metrics_of(step));
      if (with_note && step == 1) progress.note("note");
    }
  }
  std::fclose(stream);
  return read_text(path);
}

TEST(ProgressLine, ShowsStepLossSpeedUtilisationMemoryAndTimeLeft) {
  EXPECT_EQ(progress_line(metrics_of(20), 1000, 100),
            "step   20/1000  loss 2.3457  18.3k tok/s  mfu 41.0%  120 MB  1m40s left");
}

TEST(ProgressLine, LeavesOutAnUnknownUtilisationAndShowsAHeldOutLoss) {
  StepRecord metrics = metrics_of(1);
  metrics.mfu = 1.2;
  EXPECT_NE(progress_line(metrics, 1000, 100).find("  mfu > 100%  "), std::string::npos);
  metrics.mfu = 0;
  metrics.held_out_loss = 1.5;
  EXPECT_EQ(progress_line(metrics, 2, 1),
            "step 1/2  loss 2.3457  18.3k tok/s  120 MB  held out 1.5000  1s left");
}

TEST(ProgressLine, RoundsTimesAndBytesToWhatAPersonReads) {
  EXPECT_EQ(short_duration(0), "0s");
  EXPECT_EQ(short_duration(59.2), "1m00s");
  EXPECT_EQ(short_duration(3600 * 3 + 300), "3h05m");
  EXPECT_EQ(short_bytes(999), "999 B");
  EXPECT_EQ(short_bytes(1500), "1.50 kB");
  EXPECT_EQ(short_bytes(2'250'000'000), "2.25 GB");
}

TEST(Progress, PrintsTheFirstStepThenPlainLinesEverySoManyStepsAndTheLastOne) {
  EXPECT_EQ(shown(false, 3),
            progress_line(metrics_of(1), 3, 4) + "\n" + progress_line(metrics_of(3), 3, 0) + "\n");
}

TEST(Progress, RewritesOneLineOnATerminalAndLeavesTheLastStanding) {
  const std::string text = shown(true, 2);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1);
  EXPECT_TRUE(text.starts_with(fmt::format("\r{}", progress_line(metrics_of(1), 3, 4))));
  EXPECT_TRUE(text.ends_with(fmt::format("\r{}\n", progress_line(metrics_of(3), 3, 0)))) << text;
}

TEST(Progress, ClearsTheLiveLineBeforeANote) {
  EXPECT_NE(shown(true, 1, true).find(" \rnote\n\r"), std::string::npos);
}

}  // namespace
}  // namespace tessera
