// SPDX-License-Identifier: Apache-2.0
#include "record/rank_lines.h"

#include <gtest/gtest.h>

#include "core/testing/temporary_folder.h"
#include "files/text_file.h"
#include "record/run_recorder.h"

namespace tessera {
namespace {

std::vector<RankTimes> equal_ranks(size_t count) {
  return std::vector<RankTimes>(
      count, {.run_seconds = 1.0, .exposed_communication_seconds = 0.25, .bubble_seconds = 0.125});
}

TEST(RankLines, AreMeansOverTheirStepsAndPartsAddUpToTheSlowestRank) {
  RankSums sums;
  std::vector<RankTimes> ranks = equal_ranks(2);
  sums.add(ranks);
  ranks[1].run_seconds = 2.0;
  sums.add(ranks);
  const RankLine line = sums.take(20);
  EXPECT_EQ(to_json_line(line),
            R"({"step":20,"steps":2,"ranks":2,"compute_seconds":[0.625,1.125],)"
            R"("exposed_communication_seconds":[0.25,0.25],"bubble_seconds":[0.625,0.125]})");
  const std::optional<RankLine> again = parse_rank_line(to_json_line(line));
  ASSERT_TRUE(again);
  EXPECT_EQ(again->rank, (std::vector<int>{0, 1}));
  EXPECT_EQ(again->bubble_seconds, line.bubble_seconds);
  EXPECT_EQ(to_json_line(sums.take(30)).find(",1.125"), std::string::npos);
}

TEST(RankLines, OfManyRanksTellOfTheSlowestInEachRow) {
  RankSums sums;
  std::vector<RankTimes> ranks = equal_ranks(16384);
  ranks[5000].run_seconds = 3.0;
  sums.add(ranks);
  const std::string text = to_json_line(sums.take(1));
  EXPECT_LT(text.size(), 6000u);
  const std::optional<RankLine> line = parse_rank_line(text);
  ASSERT_TRUE(line);
  EXPECT_EQ(line->ranks, 16384);
  ASSERT_EQ(line->rank.size(), kMostRankRows);
  EXPECT_EQ(line->rank[39], 5000);
  EXPECT_EQ(line->rank[1], 128);
  EXPECT_EQ(line->compute_seconds[39], 2.625);
}

TEST(RankLines, ThatAreNoneAreNotRead) {
  const std::string good = R"({"step":1,"steps":1,"ranks":2,"compute_seconds":[1,2],)"
                           R"("exposed_communication_seconds":[0,0],"bubble_seconds":[0,0]})";
  EXPECT_TRUE(parse_rank_line(good));
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    return text.replace(text.find(from), from.size(), to);
  };
  for (const std::string& text :
       {std::string("{"), std::string("[]"), with("[1,2]", "[1]"), with("[1,2]", "[1,\"2\"]"),
        with("[1,2]", "[1,1e308]"), with("[1,2]", "[[[[1]]]]"), with("\"ranks\":2", "\"ranks\":1"),
        with("\"ranks\":2", "\"ranks\":99999999999"), with("\"step\":1", "\"step\":-1"),
        with("\"ranks\":2", "\"ranks\":2,\"rank\":[0,2]"),
        with("\"ranks\":2", "\"ranks\":2,\"rank\":[0]"), with("[1,2]", "[]")})
    EXPECT_FALSE(parse_rank_line(text)) << text;
}

TEST(RankLines, AreWrittenWhenDueAndDroppedAfterTheStepThatARunResumesFrom) {
  const TemporaryFolder folder;
  const RunFacts facts{.ranks = 2};
  const std::vector<RankTimes> ranks = equal_ranks(2);
  {
    RunRecorder recorder(folder.path(), facts, {});
    for (int64_t step = 1; step <= 6; ++step) recorder.ranks(step, ranks, step % 2 == 0);
  }
  const auto steps = [&] {
    std::vector<int64_t> found;
    const std::string text = read_text(folder.path() / kRanksFile);
    for (size_t at = 0; at < text.size(); at = text.find('\n', at) + 1)
      found.push_back(parse_rank_line(text.substr(at, text.find('\n', at) - at))->step);
    return found;
  };
  EXPECT_EQ(steps(), (std::vector<int64_t>{2, 4, 6}));
  {
    RunRecorder recorder(folder.path(), facts, 3);
    for (int64_t step = 4; step <= 6; ++step) recorder.ranks(step, ranks, step == 5);
  }
  EXPECT_EQ(steps(), (std::vector<int64_t>{2, 5}));
  RunRecorder alone(folder.path(), {.ranks = 1}, 2);
  EXPECT_EQ(steps(), (std::vector<int64_t>{2}));
}

TEST(RankLines, OfOneRankAreNone) {
  const TemporaryFolder folder;
  RunRecorder recorder(folder.path(), {.ranks = 1}, {});
  recorder.ranks(1, equal_ranks(1), true);
  EXPECT_FALSE(std::filesystem::exists(folder.path() / kRanksFile));
}

}  // namespace
}  // namespace tessera
