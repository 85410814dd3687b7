// SPDX-License-Identifier: Apache-2.0
#include "record/run_recorder.h"

#include <gtest/gtest.h>

#include <limits>
#include <map>

#include "core/testing/temporary_folder.h"
#include "core/testing/user_error_of.h"

namespace tessera {
namespace {

StepRecord record_of(int64_t step) {
  return {.step = step,
          .loss = 0.1,
          .grad_norm = 1.0 / 3,
          .lr = 1e-3,
          .tokens = 2048.0 * static_cast<double>(step),
          .tokens_per_second = 12345.5,
          .mfu = 0.25,
          .hfu = 0.375,
          .step_seconds = 0.5,
          .times = {.compute_seconds = 0.25,
                    .exposed_communication_seconds = 0.125,
                    .bubble_seconds = 0.0625},
          .elapsed_seconds = 1.5,
          .peak_bytes = 1 << 20};
}

TEST(Metrics, AreOneJsonObjectThatReadsBackToTheSameBits) {
  EXPECT_EQ(to_json_line(record_of(3)),
            R"({"step":3,"loss":0.1,"grad_norm":0.3333333333333333,"lr":0.001,"tokens":6144,)"
            R"("tokens_per_second":12345.5,"mfu":0.25,"hfu":0.375,"step_seconds":0.5,)"
            R"("compute_seconds":0.25,"exposed_communication_seconds":0.125,)"
            R"("bubble_seconds":0.0625,"data_seconds":0.0,"elapsed_seconds":1.5,)"
            R"("peak_bytes":1048576})");
}

TEST(Metrics, HoldTheHeldOutLossOnlyWhenItWasMeasured) {
  StepRecord record = record_of(1);
  EXPECT_EQ(to_json_line(record).find("held_out_loss"), std::string::npos);
  record.held_out_loss = 2.5;
  EXPECT_TRUE(to_json_line(record).ends_with(R"("held_out_loss":2.5})"));
}

TEST(Metrics, WriteALossThatIsNotANumberAsNull) {
  StepRecord record = record_of(1);
  record.loss = std::numeric_limits<double>::quiet_NaN();
  EXPECT_NE(to_json_line(record).find(R"("loss":null)"), std::string::npos);
}

// A line as versions before the table of fields wrote it.
TEST(Metrics, OfOlderRunsReadTheSame) {
  const std::string line =
      R"({"step":4,"loss":5.36,"grad_norm":null,"lr":0.0003,"tokens":384,)"
      R"("tokens_per_second":812.5,"mfu":0.25,"hfu":0.5,"step_seconds":0.75,)"
      R"("compute_seconds":0.5,"exposed_communication_seconds":0.125,"bubble_seconds":0.0625,)"
      R"("data_seconds":0.03125,"elapsed_seconds":3.5,"peak_bytes":1048576,"slowest_rank":1,)"
      R"("slowest_rank_seconds":0.5,"fastest_rank_seconds":0.25,"skipped":1,)"
      R"("held_out_loss":5.5,"checkpoint_stall_seconds":0.0078125})";
  const std::optional<StepRecord> record = parse_step(line);
  ASSERT_TRUE(record);
  EXPECT_EQ(record->times.data_seconds, 0.03125);
  EXPECT_FALSE(known(record->grad_norm));
  EXPECT_EQ(to_json_line(*record), line);
  EXPECT_FALSE(known(parse_step(R"({"step":4})")->held_out_loss));
  EXPECT_FALSE(parse_step("[]"));
}

TEST(Metrics, AreCombinedAsTheirRowsSay) {
  StepRecord slow = record_of(1), fast = record_of(2);
  slow.step_seconds = 3;
  slow.mfu = 0.1;
  fast.step_seconds = 1;
  fast.mfu = 0.5;
  fast.times.compute_seconds = 0.75;
  fast.times.bubble_seconds = kUnknown;
  slow.peak_bytes = 5;
  const StepRecord both = combine(std::vector{slow, fast});
  EXPECT_DOUBLE_EQ(both.mfu, 0.2);                      // by time
  EXPECT_DOUBLE_EQ(both.times.compute_seconds, 0.5);    // a mean
  EXPECT_DOUBLE_EQ(both.times.bubble_seconds, 0.0625);  // over those that know it
  EXPECT_EQ(both.tokens, fast.tokens);                  // the last
  EXPECT_EQ(both.peak_bytes, fast.peak_bytes);          // the largest
  EXPECT_FALSE(known(both.held_out_loss));
}

TEST(Metrics, HoldLoadsOfExpertsByLayer) {
  StepRecord record = record_of(2);
  record.loads = {{"layer.0", {3, 5, 0}}, {"layer.2", {4, 2, 2}}};
  record.load_violation = largest_violation(record.loads);
  record.starving_experts = static_cast<double>(starving_experts(record.loads));
  EXPECT_NEAR(record.load_violation, 5 * 3 / 8.0 - 1, 1e-15);
  EXPECT_EQ(record.starving_experts, 1);
  const std::string line = to_json_line(record);
  EXPECT_TRUE(line.ends_with(R"("expert_loads":{"layer.0":[3,5,0],"layer.2":[4,2,2]}})")) << line;
  EXPECT_EQ(parse_step(line)->loads, record.loads);
  EXPECT_EQ(parse_step(line)->load_violation, record.load_violation);
}

TEST(Metrics, GoToTensorboardUnderTheirKeys) {
  std::map<std::string, double> scalars;
  for (const Scalar& scalar : scalars_of(record_of(2))) scalars[scalar.tag] = scalar.value;
  EXPECT_EQ(scalars.at("compute_seconds"), 0.25);
  EXPECT_EQ(scalars.at("peak_bytes"), 1 << 20);
  EXPECT_FALSE(scalars.contains("held_out_loss") || scalars.contains("step"));
}

TEST(MetricsWriter, ReplacesAnOldFileUnlessResumed) {
  const TemporaryFolder folder;
  const auto path = folder.write("metrics.jsonl", "old\n");
  MetricsWriter(path).write(record_of(1));
  EXPECT_EQ(read_text(path), to_json_line(record_of(1)) + "\n");
}

TEST(MetricsWriter, KeepsLinesUpToTheResumedStepAndContinuesAfterThem) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "metrics.jsonl";
  {
    MetricsWriter writer(path);
    for (int64_t step = 1; step <= 5; ++step) writer.write(record_of(step));
  }
  MetricsWriter(path, 2).write(record_of(3));
  std::string expected;
  for (int64_t step = 1; step <= 3; ++step) expected += to_json_line(record_of(step)) + "\n";
  EXPECT_EQ(read_text(path), expected);
}

TEST(MetricsWriter, DropsALineThatACrashCutShort) {
  const TemporaryFolder folder;
  const std::string first = to_json_line(record_of(1)) + "\n";
  const auto path = folder.write("metrics.jsonl", first + "not json\n" + R"({"step":2,"lo)");
  MetricsWriter(path, 5).write(record_of(6));
  EXPECT_EQ(read_text(path), first + to_json_line(record_of(6)) + "\n");
}

TEST(MetricsWriter, ReadsNoMoreOfALongRunThanItDrops) {
  const TemporaryFolder folder;
  const std::string kept = "what is not read\n" + to_json_line(record_of(1)) + "\n";
  const auto path = folder.write("metrics.jsonl", kept + to_json_line(record_of(2)) + "\n");
  MetricsWriter(path, 1).write(record_of(2));
  EXPECT_EQ(read_text(path), kept + to_json_line(record_of(2)) + "\n");
  MetricsWriter(path, 0).write(record_of(1));
  EXPECT_EQ(read_text(path), to_json_line(record_of(1)) + "\n");
}

TEST(MetricsWriter, ResumesWhereNoMetricsWereWrittenBefore) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "metrics.jsonl";
  MetricsWriter(path, 5).write(record_of(6));
  EXPECT_EQ(read_text(path), to_json_line(record_of(6)) + "\n");
}

TEST(RunRecorder, ItsSinkGetsEveryLineOfBothFilesAsItIsWritten) {
  const TemporaryFolder folder;
  std::map<std::string, std::string> texts;
  RunRecorder recorder(folder.path(), {}, std::nullopt, {}, [&](const std::string& line) {
    texts[line.find("\"event\"") == std::string::npos ? "metrics.jsonl" : "events.jsonl"] +=
        line + "\n";
  });
  recorder.step(record_of(1));
  recorder.spent("evaluation", 1, 0.25);
  recorder.grew_room(1, 2, 3, 0.5);
  recorder.serves(9464);
  recorder.step(record_of(2));
  recorder.failed(2, "a rank was lost");
  recorder.ended(2, "");
  for (const auto& [name, text] : texts) {
    std::ifstream file(folder.path() / name);
    EXPECT_EQ(text, std::string(std::istreambuf_iterator<char>(file), {})) << name;
  }
  EXPECT_EQ(texts.size(), 2u);
}

TEST(RunRecorder, AResumeRecordsWhatBrokeOffAndTheStepsThatItDrops) {
  const TemporaryFolder folder;
  const auto events = [&] { return read_text(folder.path() / "events.jsonl"); };
  {
    RunRecorder first(folder.path(), {}, std::nullopt);
    for (int64_t step = 1; step <= 5; ++step) first.step(record_of(step));
  }
  EXPECT_EQ(events().find("dropped"), std::string::npos);
  folder.write("failure.txt", "rank 0 was ended by signal 9 (Killed)\nwho waits for whom:\n");
  RunRecorder(folder.path(), {}, 2).step(record_of(3));
  EXPECT_NE(events().find(R"("interrupted_by":"rank 0 was killed","dropped_steps":3,)"
                          R"("dropped_seconds":1.5,)"),
            std::string::npos)
      << events();
  // A failure report that is older than the last step tells of an earlier start.
  std::filesystem::last_write_time(
      folder.path() / "failure.txt",
      std::filesystem::last_write_time(folder.path() / "metrics.jsonl") - std::chrono::seconds(1));
  const size_t before = events().size();
  RunRecorder(folder.path(), {}, 2).step(record_of(3));
  EXPECT_EQ(events().find("interrupted_by", before), std::string::npos) << events();
  EXPECT_NE(events().find(R"("dropped_steps":1,"dropped_seconds":0.5)", before), std::string::npos);
}

TEST(MetricsWriter, SaysWhenTheFolderIsMissingAndWhenTheDiskIsFull) {
  EXPECT_EQ(user_error_of([] { MetricsWriter writer("/nonexistent/metrics.jsonl"); }),
            "cannot write /nonexistent/metrics.jsonl: no such file or directory");
  EXPECT_EQ(user_error_of([] { MetricsWriter("/dev/full").write(record_of(1)); }),
            "cannot write /dev/full: no space left on device");
}

}  // namespace
}  // namespace tessera
