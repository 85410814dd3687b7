// SPDX-License-Identifier: Apache-2.0
#include "record/run_metrics.h"

#include <gtest/gtest.h>

#include <set>

#include "core/testing/temporary_folder.h"
#include "record/run_recorder.h"

namespace tessera {
namespace {

bool has_line(const std::string& page, const std::string& line) {
  return ("\n" + page).find("\n" + line + "\n") != std::string::npos;
}

TEST(RunMetrics, HaveANameWithItsUnitForEveryFieldOfAStep) {
  std::set<std::string> names;
  for (const StepField& field : step_fields()) {
    EXPECT_TRUE(names.insert(metric_name(field)).second) << field.key;
    EXPECT_NE(std::string(field.meaning), "") << field.key;
  }
  for (const char* name : {"tessera_loss", "tessera_tokens_total", "tessera_step_seconds",
                           "tessera_mfu_ratio", "tessera_peak_bytes", "tessera_skipped_total"})
    EXPECT_TRUE(names.contains(name)) << name;
}

TEST(RunMetrics, ShowTheNewestFiguresAndKeepThoseThatOnlySomeStepsHave) {
  RunMetrics metrics;
  EXPECT_EQ(metrics.page().find("tessera_loss"), std::string::npos);
  metrics.step({.step = 1, .loss = 3, .skipped = 1, .held_out_loss = 2.5});
  metrics.step({.step = 2, .loss = 2, .tokens = 4096, .skipped = 1});
  const std::string page = metrics.page();
  for (const char* line : {"tessera_steps_total 2", "tessera_loss 2", "tessera_held_out_loss 2.5",
                           "tessera_tokens_total 4096", "tessera_skipped_total 2",
                           "# TYPE tessera_tokens_total counter", "# TYPE tessera_loss gauge"})
    EXPECT_TRUE(has_line(page, line)) << line << "\n" << page;
  EXPECT_EQ(page.find("tessera_joules"), std::string::npos);
}

TEST(RunMetrics, SayThatALossIsNotANumberAsPrometheusWritesIt) {
  RunMetrics metrics;
  metrics.step({.step = 1, .loss = kUnknown});
  EXPECT_TRUE(has_line(metrics.page(), "tessera_loss NaN"));
}

TEST(RunMetrics, EscapeLabels) {
  RunMetrics metrics;
  metrics.begin({.model = "a \"b\" \\ c\nd"}, 7, 2);
  EXPECT_NE(metrics.page().find(R"(model="a \"b\" \\ c d")"), std::string::npos);
  EXPECT_TRUE(has_line(metrics.page(), "tessera_restarts_total 2"));
  EXPECT_TRUE(has_line(metrics.page(), "tessera_steps_planned 7"));
}

TEST(RunMetrics, HaveTheAgeOfACheckpointOnceThereIsOne) {
  RunMetrics metrics;
  metrics.saved({.step = 5, .saved = false});
  EXPECT_EQ(metrics.page().find("tessera_checkpoint_age_seconds"), std::string::npos);
  metrics.saved({.step = 10, .saved = true});
  const std::string page = metrics.page();
  EXPECT_TRUE(has_line(page, "tessera_checkpoint_step 10"));
  EXPECT_TRUE(has_line(page, "tessera_checkpoints_total{result=\"failed\"} 1"));
  EXPECT_NE(page.find("\ntessera_checkpoint_age_seconds "), std::string::npos);
}

TEST(RunMetrics, HaveTheTimesOfRanksWhereThereAreFew) {
  RunMetrics metrics;
  metrics.step({.step = 1});
  metrics.ranks(std::vector<RankTimes>{
      {.run_seconds = 4, .exposed_communication_seconds = 1, .bubble_seconds = 0.5}, {}});
  EXPECT_TRUE(has_line(metrics.page(), R"(tessera_rank_seconds{rank="0",part="compute"} 2.5)"));
  RunMetrics many;
  many.step({.step = 1});
  many.ranks(std::vector<RankTimes>(1000));
  EXPECT_EQ(many.page().find("tessera_rank_seconds"), std::string::npos);
}

TEST(RunMetrics, CountTheStartsOfARun) {
  const TemporaryFolder folder;
  EXPECT_EQ(count_starts(folder.path()), 0);
  RunRecorder(folder.path(), {}, std::nullopt).ended(1, "");
  RunRecorder(folder.path(), {}, 1).ended(2, "");
  EXPECT_EQ(count_starts(folder.path()), 2);
}

}  // namespace
}  // namespace tessera
