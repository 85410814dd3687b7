// SPDX-License-Identifier: Apache-2.0
#include "serve/question_turns.h"

#include <gtest/gtest.h>

#include <thread>

namespace tessera {
namespace {

bool still_there() { return false; }

TEST(QuestionTurns, ANewerQuestionCancelsTheOlderOfTabAndKind) {
  QuestionTurns turns(4);
  const auto first = turns.begin("tab", "try");
  const auto other_kind = turns.begin("tab", "ir");
  const auto other_tab = turns.begin("other", "try");
  const auto nameless = turns.begin("", "try");
  const auto second = turns.begin("tab", "try");
  turns.begin("", "try");
  EXPECT_TRUE(first->cancelled());
  for (const auto& turn : {other_kind, other_tab, nameless, second})
    EXPECT_FALSE(turn->cancelled());
}

TEST(QuestionTurns, AnOlderQuestionThatEndsLeavesTheNewer) {
  QuestionTurns turns(4);
  auto first = turns.begin("tab", "try");
  const auto second = turns.begin("tab", "try");
  first.reset();
  const auto third = turns.begin("tab", "try");
  EXPECT_TRUE(second->cancelled());
  EXPECT_FALSE(third->cancelled());
}

TEST(QuestionTurns, WaitsForACore) {
  QuestionTurns turns(1);
  auto first = turns.begin("", "try");
  ASSERT_TRUE(turns.wait_for_core(*first, still_there));
  const auto second = turns.begin("", "try");
  EXPECT_FALSE(turns.wait_for_core(*second, [] { return true; }));
  std::thread later([&] { EXPECT_TRUE(turns.wait_for_core(*second, still_there)); });
  first.reset();
  later.join();
}

TEST(QuestionTurns, OneRunsAlone) {
  QuestionTurns turns(4);
  auto first = turns.begin("a", "search");
  const auto second = turns.begin("b", "search");
  ASSERT_TRUE(turns.wait_to_be_alone(*first, "search", 0));
  EXPECT_FALSE(turns.wait_to_be_alone(*second, "search", 0.01));
  first.reset();
  EXPECT_TRUE(turns.wait_to_be_alone(*second, "search", 0));
}

TEST(QuestionTurns, AllAreCancelledAtTheEnd) {
  QuestionTurns turns(4);
  const auto before = turns.begin("", "try");
  turns.cancel_all();
  EXPECT_TRUE(before->cancelled());
  EXPECT_TRUE(turns.begin("", "try")->cancelled());
}

}  // namespace
}  // namespace tessera
