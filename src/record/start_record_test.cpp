// SPDX-License-Identifier: Apache-2.0
#include "record/start_record.h"

#include <gtest/gtest.h>

#include <fstream>

#include "core/testing/temporary_folder.h"

namespace tessera {
namespace {

void write(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path) << text;
}

std::string step(int64_t number, double elapsed) {
  return fmt::format("{{\"step\":{},\"step_seconds\":2,\"elapsed_seconds\":{}}}\n", number,
                     elapsed);
}

TEST(StartRecord, IsMeasuredFromTheRecordOfTheLastStart) {
  const TemporaryFolder folder;
  write(folder.path() / "events.jsonl",
        "{\"event\":\"start\",\"step\":0,\"unix_time\":100}\n"
        "{\"event\":\"checkpoint\",\"step\":2,\"seconds\":7}\n"
        "{\"event\":\"start\",\"step\":2,\"unix_time\":203.5}\n"
        "{\"event\":\"checkpoint\",\"step\":4,\"seconds\":0.5}\n");
  write(folder.path() / "metrics.jsonl",
        step(1, 4) + step(2, 6) + step(3, 3.5) + step(4, 5.5) + step(5, 8));
  const StartRecord attempt = measure_start(folder.path(), 200, 20);
  EXPECT_EQ(attempt.first_step, 3);
  EXPECT_EQ(attempt.last_step, 5);
  EXPECT_DOUBLE_EQ(attempt.start_seconds, 3.5 + 1.5);
  EXPECT_DOUBLE_EQ(attempt.stall_seconds, 0.5);
  EXPECT_DOUBLE_EQ(attempt.work_seconds, 6);
  EXPECT_EQ(attempt.saves, 1);
  EXPECT_DOUBLE_EQ(attempt.tail_seconds(), 20 - 5 - 0.5 - 6);
}

TEST(StartRecord, ThatLeftNoRecordMadeNoStep) {
  const TemporaryFolder folder;
  EXPECT_EQ(measure_start(folder.path(), 200, 20).steps(), 0);
  write(folder.path() / "events.jsonl", "{\"event\":\"start\",\"step\":0,\"unix_time\":100}\n");
  write(folder.path() / "metrics.jsonl", step(1, 4));
  const StartRecord attempt = measure_start(folder.path(), 200, 20);  // a later one
  EXPECT_EQ(attempt.steps(), 0);
  EXPECT_DOUBLE_EQ(attempt.start_seconds, 20);
}

TEST(StartRecord, ReadsALongRecordFromItsEnd) {
  const TemporaryFolder folder;
  std::string lines;
  for (int64_t i = 1; i <= 60'000; ++i) lines += step(i, 2.0 * static_cast<double>(i));
  write(folder.path() / "metrics.jsonl", lines);
  for (const int64_t resumed : {0, 100, 59'990}) {
    write(folder.path() / "events.jsonl",
          fmt::format("{{\"event\":\"start\",\"step\":{},\"unix_time\":100}}\n", resumed));
    const StartRecord attempt = measure_start(folder.path(), 100, 1e6);
    EXPECT_EQ(attempt.first_step, resumed + 1);
    EXPECT_EQ(attempt.last_step, 60'000);
  }
}

TEST(StartRecord, IsALineOfTheRecordAndReadsBack) {
  const TemporaryFolder folder;
  const StartRecord none;
  record_start(folder.path(), none);
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "events.jsonl"));  // a folder that is gone
  write(folder.path() / "events.jsonl", "");
  StartRecord attempt{.began_unix_seconds = 12.5, .seconds = 3, .waited_seconds = 1};
  attempt.first_step = 4;
  attempt.last_step = 9;
  attempt.ranks = 6;
  attempt.available = 7;
  attempt.mesh = "dp=3,tp=2";
  attempt.end = kStartMoved;
  record_start(folder.path(), attempt);
  std::ifstream file(folder.path() / "events.jsonl");
  std::string line;
  std::getline(file, line);
  const std::optional<StartRecord> read = start_of_json(parse_json(line));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->last_step, 9);
  EXPECT_EQ(read->available, 7);
  EXPECT_EQ(read->mesh, "dp=3,tp=2");
  EXPECT_EQ(read->end, kStartMoved);
  EXPECT_DOUBLE_EQ(read->waited_seconds, 1);
  EXPECT_FALSE(start_of_json(parse_json("{\"event\":\"start\"}")));
}

}  // namespace
}  // namespace tessera
