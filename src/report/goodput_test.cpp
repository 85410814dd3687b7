// SPDX-License-Identifier: Apache-2.0
#include "report/goodput.h"

#include <gtest/gtest.h>

#include "report/report.h"
#include "report/testing/made_run.h"

namespace tessera {
namespace {

RunRecord lost_and_back() {
  RunRecord run = made_run(20);
  run.config->checkpoint.every = 5;
  run.events.push_back({.kind = "saved", .step = 5, .seconds = 0.1});
  StartRecord first{.began_unix_seconds = 0, .seconds = 16};
  first.first_step = 1;
  first.last_step = 8;
  first.start_seconds = 2;
  first.work_seconds = 12;
  first.ranks = first.available = 8;
  first.mesh = "dp=8";
  first.end = kStartFailed;
  StartRecord second = first;
  second.began_unix_seconds = 17;
  second.first_step = 6;
  second.last_step = 20;
  second.seconds = 40;
  second.work_seconds = 30;
  second.ranks = 6;
  second.available = 7;
  second.mesh = "dp=3,tp=2";
  second.end = kStartDone;
  run.starts = {first, second};
  return run;
}

TEST(Goodput, EveryKindOfLossHasARowBesideItsPrediction) {
  const GoodputReport report = goodput_report(lost_and_back());
  const std::vector<GoodputRow> rows = rows_of(report);
  ASSERT_GE(rows.size(), 5U);
  EXPECT_EQ(rows.front().name, "productive");
  double measured = 0, predicted = 0;
  for (const GoodputRow& row : rows) {
    measured += row.measured_share;
    predicted += row.predicted_share.value_or(0);
  }
  EXPECT_NEAR(measured, 1, 0.01);
  EXPECT_NEAR(predicted, 1, 0.01);
  const std::vector<std::string> lines = to_lines(report);
  EXPECT_NE(lines.front().find("goodput 5"), std::string::npos) << lines.front();
  EXPECT_NE(lines.front().find("for the 1 failure that there was"), std::string::npos)
      << lines.front();
}

TEST(Goodput, AReportShowsWhereARunContinued) {
  const Report report{.record = lost_and_back()};
  const std::string text = to_markdown(document_of(report));
  EXPECT_NE(text.find("Goodput, with failures and returns"), std::string::npos);
  EXPECT_NE(text.find("6 ranks, dp=3,tp=2"), std::string::npos);
  EXPECT_NE(to_json_text(report).find("\"goodput\":{\"share\":"), std::string::npos);
}

TEST(Goodput, AReportOfARunWithoutASupervisorSaysNothingOfIt) {
  const Report report{.record = made_run()};
  EXPECT_EQ(to_markdown(document_of(report)).find("Goodput"), std::string::npos);
  EXPECT_EQ(to_json_text(report).find("\"goodput\""), std::string::npos);
}

}  // namespace
}  // namespace tessera
