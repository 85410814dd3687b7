// SPDX-License-Identifier: Apache-2.0
#include "serve/line_stream.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <thread>

namespace tessera {
namespace {

bool nobody_left() { return false; }

std::string take_some(LineStream& lines) {
  std::array<char, 8> part{};
  const long count = lines.take(part.data(), part.size(), nobody_left);
  return {part.data(), static_cast<size_t>(std::max(0L, count))};
}

TEST(LineStream, GivesLinesInPartsAndThenTheEnd) {
  LineStream lines;
  EXPECT_TRUE(lines.tell("{\"a\":1}"));
  EXPECT_TRUE(lines.tell(""));
  EXPECT_TRUE(lines.tell("{}"));
  lines.finish();
  EXPECT_EQ(take_some(lines), "{\"a\":1}\n");
  EXPECT_EQ(take_some(lines), "{}\n");
  EXPECT_EQ(take_some(lines), "");
}

TEST(LineStream, KnowsWhetherAnythingWasTold) {
  LineStream lines;
  EXPECT_FALSE(lines.has_begun_within(0));
  lines.finish();
  EXPECT_TRUE(lines.has_begun_within(0));
  EXPECT_TRUE(lines.ended_without_lines());
}

TEST(LineStream, TellsTheAnswerWhenTheListenerHasGone) {
  LineStream lines;
  char byte = 0;
  EXPECT_EQ(lines.take(&byte, 1, [] { return true; }), -1);
  EXPECT_FALSE(lines.tell("x"));
  EXPECT_FALSE(lines.tell(""));
}

TEST(LineStream, MakesTheAnswerWaitForASlowListener) {
  LineStream lines;
  const std::string line(100'000, 'a');
  std::atomic<int> told = 0;
  std::thread answer([&] {
    while (lines.tell(line)) ++told;
  });
  while (told < 3) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(told, 3);
  lines.stop_listening();
  answer.join();
}

}  // namespace
}  // namespace tessera
