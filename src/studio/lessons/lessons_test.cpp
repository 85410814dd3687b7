// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <set>

#include "studio/answers.h"
#include "studio/lessons/lesson_run.h"

namespace tessera {

static void PrintTo(const Lesson& lesson, std::ostream* out) { *out << lesson.name; }

namespace {

class EveryLesson : public testing::TestWithParam<Lesson> {};

std::vector<LessonRun>& compiled_lessons() {
  static std::vector<LessonRun> runs;
  return runs;
}

const LessonRun& run_of(const Lesson& lesson) {
  for (const LessonRun& run : compiled_lessons())
    if (run.lesson.name == lesson.name) return run;
  return compiled_lessons().emplace_back(compile_lesson(lesson));
}

TEST_P(EveryLesson, StopsAtOneInstructionEach) {
  const LessonRun& run = run_of(GetParam());
  EXPECT_GE(GetParam().stops.size(), 3u);
  for (const LessonStop& stop : GetParam().stops)
    EXPECT_NO_THROW(find_stop(run, stop)) << stop.what;
}

TEST_P(EveryLesson, HasTheFiguresOfItsFormulas) {
  const LessonRun& run = run_of(GetParam());
  const LessonSizes sizes = sizes_of(run.spec);
  EXPECT_FALSE(GetParam().formulas.empty());
  for (const LessonFormula& formula : GetParam().formulas)
    EXPECT_NEAR(formula.value(sizes), figure_of(run, formula.figure), 1e-9) << formula.what;
}

TEST_P(EveryLesson, WalksThroughEveryInstructionOfEveryRankOnce) {
  const LessonRun& run = run_of(GetParam());
  const LessonMoments moments = moments_of(run);
  std::vector<int> now(run.programs().size(), -1);
  for (size_t i = 0; i < moments.positions.size(); ++i) {
    bool moved = false;
    for (size_t p = 0; p < now.size(); ++p) {
      const int step = moments.positions[i][p] - now[p];
      ASSERT_TRUE(step == 0 || step == 1);
      moved = moved || step == 1;
    }
    EXPECT_TRUE(moved);
    if (i > 0) {
      EXPECT_GE(moments.times[i], moments.times[i - 1] - 1e-9);
    }
    now = moments.positions[i];
  }
  for (size_t p = 0; p < now.size(); ++p)
    EXPECT_EQ(now[p] + 1, static_cast<int>(positions_of(run.programs()[p]).size()));
}

// A rank is at the wait for a stream or a gradient until the rank that sends it has done so.
TEST_P(EveryLesson, ReceivesNothingBeforeItIsSent) {
  const LessonRun& run = run_of(GetParam());
  std::set<std::tuple<std::string, int>> sent;  // channel, microbatch
  std::vector<int> now(run.programs().size(), -1);
  for (const std::vector<int>& next : moments_of(run).positions) {
    const auto at = [&](size_t p) {
      const Program& program = run.programs()[p];
      const LessonPosition position = positions_of(program)[static_cast<size_t>(next[p])];
      return std::pair(position,
                       program.script("train_step").calls[static_cast<size_t>(position.call)]);
    };
    for (size_t p = 0; p < now.size(); ++p) {
      if (next[p] == now[p]) continue;
      const auto& [position, call] = at(p);
      const Program& program = run.programs()[p];
      if (instruction_at(program, position).as<SendInstruction>())
        sent.emplace(program.channels[static_cast<size_t>(call.channel)].name, call.microbatch);
    }
    for (size_t p = 0; p < now.size(); ++p) {
      const Program& program = run.programs()[p];
      if (next[p] == now[p] || next[p] == 0) continue;
      const LessonPosition before = positions_of(program)[static_cast<size_t>(next[p] - 1)];
      const ScriptCall& call = program.script("train_step").calls[static_cast<size_t>(before.call)];
      if (call.routine == RoutineKind::StreamInDone ||
          call.routine == RoutineKind::GradientInDone) {
        EXPECT_TRUE(sent.contains(
            {program.channels[static_cast<size_t>(call.channel)].name, call.microbatch}))
            << program.channels[static_cast<size_t>(call.channel)].name << " microbatch "
            << call.microbatch;
      }
    }
    now = next;
  }
}

TEST_P(EveryLesson, AnswersWithItsNumbers) {
  const Json json = ask("lesson", {.fields = Json{{"lesson", GetParam().name}}}).json;
  EXPECT_EQ(json.find("stops")->items().size(), GetParam().stops.size());
  EXPECT_EQ(json.find("guesses")->items().size(), GetParam().guesses.size());
  EXPECT_FALSE(json.find("moments")->items().empty());
  EXPECT_EQ(json.find("moments")->items().size(), json.find("times")->items().size());
}

TEST_P(EveryLesson, HasAWordForEachStopAndStopsAtDifferentMoments) {
  const Json json = ask("lesson", {.fields = Json{{"lesson", GetParam().name}}}).json;
  std::set<double> moments;
  for (const Json& stop : json.find("stops")->items()) {
    EXPECT_NE(*stop.find("name")->text(), "");
    EXPECT_TRUE(moments.insert(*stop.find("moment")->number()).second)
        << *stop.find("name")->text();
  }
}

TEST_P(EveryLesson, IsBrokenByEveryBreak) {
  EXPECT_FALSE(GetParam().breaks.empty());
  for (const LessonBreak& mistake : GetParam().breaks) {
    const Json json =
        ask("break", {.fields = Json{{"lesson", GetParam().name}, {"break", mistake.name}}}).json;
    EXPECT_NE(*json.find("caught_by")->text(), "") << mistake.name;
    EXPECT_NE(*json.find("sentence")->text(), "") << mistake.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Lessons, EveryLesson, testing::ValuesIn(lessons()),
                         [](const auto& instance) { return std::string(instance.param.name); });

TEST(Lessons, HaveNamesOfTheirOwn) {
  std::set<std::string_view> names;
  for (const Lesson& lesson : lessons()) EXPECT_TRUE(names.insert(lesson.name).second);
}

TEST(Lessons, OneThatDoesNotExistIsRefused) {
  EXPECT_THROW(find_lesson("rings"), UserError);
  EXPECT_THROW(ask("break", {.fields = Json{{"lesson", "ring"}, {"break", "x"}}}), UserError);
}

}  // namespace
}  // namespace tessera
