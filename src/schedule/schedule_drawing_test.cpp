// SPDX-License-Identifier: Apache-2.0
#include "schedule/schedule_drawing.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>

#include "schedule/schedule_kinds.h"

namespace tessera {
namespace {

TimedSchedule timed(const char* kind, int ranks, int chunks, int microbatches,
                    const StageCosts& costs = {}) {
  const Schedule schedule = make_schedule(kind, ranks, chunks, microbatches);
  return {schedule, time_schedule(schedule, costs)};
}

int count(const std::string& text, const std::string& part) {
  int found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

TEST(ScheduleText, DrawsActionsWhereTheyStandInTime) {
  EXPECT_EQ(draw_as_text(timed("1f1b", 2, 1, 2), {}),
            "rank 0  F0 F1 ......B0--- ...B1--- \n"
            "rank 1  ...F0 B0--- F1 B1--- ......\n");
  EXPECT_EQ(draw_as_text(timed("zb_h1", 2, 1, 2), {}),
            "rank 0  F0 F1 ...I0 W0 I1 W1 \n"
            "rank 1  ...F0 I0 F1 I1 W0 W1 \n");
}

TEST(ScheduleText, TellsChunksApartByCase) {
  EXPECT_EQ(draw_as_text(timed("zb_v", 1, 2, 1), {}), "rank 0  F0 f0 i0 w0 I0 W0 \n");
}

TEST(ScheduleText, KeepsWithinTheLine) {
  for (const int columns : {40, 80, 200}) {
    const std::string text = draw_as_text(timed("1f1b", 3, 1, 40), {.columns = columns});
    size_t begin = 0;
    for (size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', begin)) {
      EXPECT_LE(end - begin, static_cast<size_t>(columns));
      begin = end + 1;
    }
  }
}

TEST(ScheduleText, ColoursOnlyWhenAsked) {
  EXPECT_EQ(count(draw_as_text(timed("1f1b", 2, 1, 2), {}), "\x1b"), 0);
  EXPECT_EQ(count(draw_as_text(timed("1f1b", 2, 1, 2), {.colour = true}), "\x1b[48;5;"), 8);
}

TEST(ScheduleSvg, HasOneRectanglePerActionRankAndLegendEntry) {
  const TimedSchedule schedules[] = {timed("gpipe", 2, 1, 3), timed("zb_v", 2, 2, 3)};
  const std::string svg = draw_as_svg(schedules);
  // Actions 2 x 3 x 2 and 2 x 2 x 3 x 3, a lane per rank, four kinds and two more in the legend.
  EXPECT_EQ(count(svg, "<rect "), 12 + 36 + 4 + 6);
  EXPECT_EQ(count(svg, "class=\"n\""), 12 + 36);
  EXPECT_EQ(count(svg, "</svg>"), 1);
}

TEST(ScheduleTrace, ArrowsRunFromTheSenderToWhoWaits) {
  const TimedSchedule schedules[] = {timed("1f1b", 3, 1, 2), timed("zb_v", 2, 2, 2)};
  const nlohmann::json events = nlohmann::json::parse(to_trace(schedules)).at("traceEvents");
  int slices = 0;
  std::map<std::string, std::pair<double, double>> arrows;
  for (const auto& event : events) {
    slices += event["ph"] == "X";
    if (event["ph"] == "s") arrows[event["id"]].first = event["ts"];
    if (event["ph"] == "f") arrows[event["id"]].second = event["ts"];
  }
  EXPECT_EQ(slices, 3 * 2 * 2 + 2 * 2 * 2 * 3);
  // Two edges between ranks each (the V's tip stays on a rank), two ways, two microbatches.
  EXPECT_EQ(arrows.size(), 8U + 8U);
  for (const auto& [id, ends] : arrows) {
    EXPECT_GT(ends.first, 0) << id;
    EXPECT_GE(ends.second, ends.first) << id;
  }
}

TEST(ScheduleTrace, CountsTheActivationsHeld) {
  const TimedSchedule schedules[] = {timed("zb_v", 3, 2, 6)};
  const nlohmann::json events = nlohmann::json::parse(to_trace(schedules)).at("traceEvents");
  double most = 0, last = 1;
  for (const auto& event : events)
    if (event["ph"] == "C") {
      last = event["args"]["microbatches"];
      most = std::max(most, last);
    }
  EXPECT_EQ(most, 3);
  EXPECT_EQ(last, 0);
}

}  // namespace
}  // namespace tessera
