// SPDX-License-Identifier: Apache-2.0
#include "record/run_record.h"

#include <gtest/gtest.h>

#include "core/testing/temporary_folder.h"
#include "core/testing/user_error_of.h"
#include "record/run_recorder.h"

namespace tessera {
namespace {

TEST(RunRecord, IsWhatARecorderWrote) {
  const TemporaryFolder folder;
  {
    RunRecorder recorder(folder.path(), {.model = "tiny", .device = "abacus"}, std::nullopt);
    recorder.peak(5e9, "bf16", true);
    recorder.step({.step = 1,
                   .loss = 3.5,
                   .hfu = 0.5,
                   .times = {.compute_seconds = 0.25},
                   .held_out_loss = 4.5});
    recorder.spent("checkpoint", 1, 0.125, 77);
    recorder.failed(2, "rank 1 is late");
  }
  RunRecorder(folder.path(), {.device = "slide rule"}, 1).ended(1, "SIGTERM");
  const RunRecord record = read_run(folder.path());
  ASSERT_EQ(record.steps.size(), 1u);
  EXPECT_EQ(record.steps[0].loss, 3.5);
  EXPECT_EQ(record.steps[0].hfu, 0.5);
  EXPECT_EQ(record.steps[0].times.compute_seconds, 0.25);
  EXPECT_EQ(record.steps[0].held_out_loss, 4.5);
  EXPECT_EQ(record.facts->device, "slide rule");  // of the last start
  EXPECT_EQ(record.peak_flops_per_second, 5e9);
  EXPECT_EQ(record.peak_arithmetic, "bf16");
  EXPECT_TRUE(record.peak_measured);
  std::vector<std::string> kinds;
  for (const RecordedEvent& event : record.events) kinds.push_back(event.kind);
  EXPECT_EQ(kinds,
            (std::vector<std::string>{"start", "peak", "checkpoint", "failure", "start", "end"}));
  EXPECT_EQ(record.events[2].seconds, 0.125);
  EXPECT_EQ(record.events[2].bytes, 77);
  EXPECT_EQ(record.events[3].text, "rank 1 is late");
  EXPECT_EQ(record.events[4].step, 1);
  EXPECT_EQ(record.events[5].text, "SIGTERM");
}

TEST(RunRecord, LeavesOutALineThatWasCutShort) {
  const TemporaryFolder folder;
  folder.write("metrics.jsonl", "{\"step\":1,\"loss\":2.5}\n{\"step\":2,\"lo");
  const RunRecord record = read_run(folder.path());
  EXPECT_EQ(record.steps.size(), 1u);
  EXPECT_EQ(record.lines_left_out, 1);
  EXPECT_FALSE(record.facts || record.config);
}

// As where a run that was killed has repeated steps, and its old lines could not be dropped.
TEST(RunRecord, OfAStepThatWasWrittenTwiceTheLastLineCounts) {
  const TemporaryFolder folder;
  folder.write("metrics.jsonl",
               "{\"step\":1,\"loss\":4}\n{\"step\":2,\"loss\":9}\n{\"step\":2,\"loss\":3}\n");
  const RunRecord record = read_run(folder.path());
  ASSERT_EQ(record.steps.size(), 2u);
  EXPECT_EQ(record.steps[1].loss, 3);
}

TEST(RunRecord, ANumberThatIsNullIsAbsent) {
  const TemporaryFolder folder;
  folder.write("metrics.jsonl", "{\"step\":1,\"loss\":null}\n");
  EXPECT_FALSE(known(read_run(folder.path()).steps[0].loss));
}

TEST(RunRecord, AConfigOfAnotherVersionIsLeftOut) {
  const TemporaryFolder folder;
  folder.write("metrics.jsonl", "{\"step\":1}\n");
  folder.write("config.toml", "[train]\nno_such_key = 1\n");
  EXPECT_FALSE(read_run(folder.path()).config.has_value());
}

TEST(RunRecord, SaysWhatIsMissing) {
  const TemporaryFolder folder;
  const std::string path = folder.path().string();
  EXPECT_EQ(user_error_of([&] { read_run(path + "/none"); }),
            "there is no folder " + path + "/none");
  EXPECT_EQ(user_error_of([&] { read_run(path); }),
            path + " holds no run: there is no metrics.jsonl in it");
  folder.write("metrics.jsonl", "");
  EXPECT_EQ(user_error_of([&] { read_run(path); }), "the run in " + path + " has no finished step");
}

TEST(RunFacts, ReadBackAsWritten) {
  const RunFacts facts{.source = "simulate",
                       .model = "tiny",
                       .device = "a \"quoted\" name",
                       .ranks = 8,
                       .flops_per_token = {.causal = 1.5, .full = 2.5},
                       .rank_classes = {{.rank = 4, .alike = 2, .peak_bytes = 7}}};
  const auto read = facts_of_json(to_json(facts));
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(to_json(*read), to_json(facts));
  EXPECT_EQ(read->device, "a \"quoted\" name");
  EXPECT_EQ(read->rank_classes[0].peak_bytes, 7);
  EXPECT_FALSE(facts_of_json(Json::array()).has_value());
  EXPECT_FALSE(facts_of_json({{"ranks", "many"}}).has_value());
}

}  // namespace
}  // namespace tessera
