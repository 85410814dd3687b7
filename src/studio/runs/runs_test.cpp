// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <fstream>

#include "core/error.h"
#include "studio/answers.h"
#include "studio/runs/run_files.h"
#include "studio/runs/run_folders.h"
#include "system/random_name.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

class RunsTest : public testing::Test {
 protected:
  RunsTest() : top_(fs::path(testing::TempDir()) / random_name()) {
    fs::create_directories(top_ / "runs");
  }
  ~RunsTest() override { fs::remove_all(top_); }

  fs::path add_run(const std::string& name, const std::string& metrics,
                   const std::string& events = "") const {
    const fs::path run = top_ / "runs" / name;
    fs::create_directories(run);
    std::ofstream(run / "metrics.jsonl") << metrics;
    std::ofstream(run / "events.jsonl") << events;
    return run;
  }
  Answer ask_runs(std::string_view kind, Json fields = Json::object()) {
    Question question{.fields = std::move(fields),
                      .runs = &folders_.emplace(std::vector{top_ / "runs"})};
    question.tell = [&](const Json& part) {
      if (!part.is_null()) told_.push_back(part);
      return told_.size() < most_told_;
    };
    return ask(kind, question);
  }
  std::string id_of(const std::string& name) {
    const Json runs = ask_runs("runs").json;
    for (const Json& run : runs.find("runs")->items())
      if (run.find("name")->text()->ends_with(name)) return *run.find("id")->text();
    return "";
  }

  fs::path top_;
  std::optional<RunFolders> folders_;
  std::vector<Json> told_;
  size_t most_told_ = 100;
};

TEST_F(RunsTest, AreFoundBelowTheFoldersAndThroughNoLink) {
  add_run("a", "{\"step\":1,\"loss\":2}\n{\"step\":2,\"loss\":1.5}\n{\"step\":3,\"lo");
  add_run("deeper/b", "");
  add_run("deeper/checkpoints", "{}\n");
  add_run("one/two/three", "{}\n");
  const fs::path outside = top_ / "outside";
  fs::create_directory(outside);
  std::ofstream(outside / "metrics.jsonl") << "{\"step\":1}\n";
  fs::create_symlink(outside, top_ / "runs/link");
  fs::create_directory(top_ / "runs/linked_file");
  fs::create_symlink(outside / "metrics.jsonl", top_ / "runs/linked_file/metrics.jsonl");
  const Json answer = ask_runs("runs").json;
  const auto runs = answer.find("runs")->items();
  ASSERT_EQ(runs.size(), 2u) << answer.dump();
  EXPECT_EQ(runs[0].find("step")->integer(), 2);
  EXPECT_EQ(runs[0].find("loss")->number(), 1.5);
  EXPECT_TRUE(runs[1].find("name")->text()->ends_with("deeper/b"));
}

TEST_F(RunsTest, HaveTheStateOfTheirLastEvents) {
  const auto state_of_run = [&](const std::string& events) {
    add_run("a", "{\"step\":1}\n", events);
    return *ask_runs("runs").json.find("runs")->items()[0].find("state")->text();
  };
  const std::string start = "{\"event\":\"start\"}\n", failure = "{\"event\":\"failure\"}\n";
  EXPECT_EQ(state_of_run(start), "running");
  EXPECT_EQ(state_of_run(start + "{\"event\":\"end\"}\n"), "finished");
  EXPECT_EQ(state_of_run(start + "{\"event\":\"end\",\"stopped_by\":\"SIGINT\"}\n"), "stopped");
  EXPECT_EQ(state_of_run(start + failure), "failed");
  EXPECT_EQ(state_of_run(start + failure + start), "running");
  const fs::path run = add_run("a", "{\"step\":1}\n", start);
  for (const char* name : {"metrics.jsonl", "events.jsonl"})
    fs::last_write_time(run / name, fs::file_time_type::clock::now() - std::chrono::hours(1));
  EXPECT_EQ(*ask_runs("runs").json.find("runs")->items()[0].find("state")->text(), "silent");
}

TEST_F(RunsTest, HistoryKeepsTheLeastAndTheLargestOfEachPart) {
  std::string metrics;
  for (int step = 1; step <= 1000; ++step)
    metrics += fmt::format("{{\"step\":{},\"loss\":{}}}\n", step, step == 555 ? 99 : 1);
  metrics += "{\"step\":1000,\"loss\":-5}\nno step\n{\"step\":1001";
  add_run("a", metrics);
  const Answer answer = ask_runs("history", {{"run", id_of("a")}, {"parts", 10}});
  EXPECT_EQ(answer.json.find("steps")->integer(), 1000);
  EXPECT_EQ(answer.json.find("lines_left_out")->integer(), 1);
  const int64_t end = *answer.json.find("next")->find("metrics")->integer();
  EXPECT_EQ(end, static_cast<int64_t>(metrics.size() - std::strlen("{\"step\":1001")));
  const auto columns = answer.json.find("columns")->items();
  ASSERT_EQ(columns.size(), 3u);
  std::vector<float> values(10);
  const auto load = [&](size_t column) {
    std::memcpy(values.data(), answer.columns.data() + *columns[column].find("offset")->integer(),
                40);
    return values;
  };
  EXPECT_EQ(load(1), (std::vector<float>{1, 1, 1, 1, 1, 1, 1, 1, 1, -5}));
  EXPECT_EQ(load(2), (std::vector<float>{1, 1, 1, 1, 1, 99, 1, 1, 1, 1}));
}

std::string rank_line(int step, const std::string& compute) {
  return fmt::format(R"({{"step":{},"steps":1,"ranks":3,"compute_seconds":[{}],)"
                     R"("exposed_communication_seconds":[0,0,0],"bubble_seconds":[1,1,1]}})",
                     step, compute) +
         "\n";
}

TEST_F(RunsTest, RanksKeepTheMomentInWhichEachWasSlowest) {
  std::string text = "no line\n";
  for (int step = 1; step <= 100; ++step) text += rank_line(step, step == 33 ? "2,2,6" : "2,2,2");
  text += rank_line(98, "4,2,2") + "{\"step\":101";
  const fs::path run = add_run("a", "{\"step\":1}\n");
  std::ofstream(run / "ranks.jsonl") << text;
  const Answer answer = ask_runs("ranks", {{"run", id_of("a")}, {"parts", 10}});
  EXPECT_EQ(answer.json.find("rows")->integer(), 3);
  EXPECT_EQ(answer.json.find("lines")->integer(), 98);  // 98 to 100 were done again
  EXPECT_EQ(answer.json.find("lines_left_out")->integer(), 4);
  EXPECT_EQ(answer.json.find("next")->find("ranks")->integer(),
            static_cast<int64_t>(text.size() - std::strlen("{\"step\":101")));
  std::vector<float> over(30);
  for (const Json& column : answer.json.find("columns")->items())
    if (*column.find("name")->text() == "over") {
      ASSERT_EQ(column.find("count")->integer(), 30);
      std::memcpy(over.data(), answer.columns.data() + *column.find("offset")->integer(), 120);
    }
  EXPECT_EQ(over[3 * 3 + 2], 2.0F);
  EXPECT_EQ(over[9 * 3], 1.0F);
  EXPECT_EQ(std::ranges::count(over, 0.0F), 28);
  told_.clear();
  ask_runs("follow", {{"run", id_of("a")}, {"once", true}, {"from", Json{{"ranks", 0}}}});
  EXPECT_EQ(told_[0].find("ranks")->items().size(), 101u);
  fs::remove(run / "ranks.jsonl");
  EXPECT_EQ(ask_runs("ranks", {{"run", id_of("a")}}).json.find("rows")->integer(), 0);
}

TEST_F(RunsTest, AreFollowedFromAByteOn) {
  const fs::path run = add_run("a", "{\"step\":1}\n{\"step\":2}\n{\"st", "{\"event\":\"start\"}\n");
  const std::string id = id_of("a");
  ask_runs("follow", {{"run", id}, {"once", true}, {"from", Json{{"metrics", 11}}}});
  ASSERT_EQ(told_.size(), 1u);
  EXPECT_EQ(told_[0].find("metrics")->items().size(), 1u);
  const Json next = *told_[0].find("next");
  EXPECT_EQ(next.find("metrics")->integer(), 22);
  EXPECT_EQ(next.find("events")->integer(), 18);
  std::ofstream(run / "metrics.jsonl", std::ios::app) << "ep\":3}\n";
  told_.clear();
  ask_runs("follow", {{"run", id}, {"once", true}, {"from", next}});
  ASSERT_EQ(told_.size(), 1u);
  EXPECT_EQ(told_[0].find("metrics")->items()[0].find("step")->integer(), 3);
}

TEST_F(RunsTest, AreReadFromTheirBeginWhereTheFileIsShorter) {
  add_run("a", "{\"step\":1}\n");
  most_told_ = 1;
  ask_runs("follow", {{"run", id_of("a")}, {"from", Json{{"metrics", 1000}}}});
  ASSERT_EQ(told_.size(), 1u);
  EXPECT_EQ(told_[0].find("reset")->flag(), true);
  EXPECT_EQ(told_[0].find("metrics")->items().size(), 1u);
}

TEST_F(RunsTest, AreReadFromTheirBeginWhereTheFileIsAnotherOneThatIsLonger) {
  const fs::path run = add_run("a", "{\"step\":1}\n{\"step\":2}\n");
  const std::string id = id_of("a");
  const Json next = *ask_runs("history", {{"run", id}}).json.find("next");
  std::ofstream(run / "new") << "{\"step\":1}\n{\"step\":2,\"loss\":3}\n{\"step\":3}\n";
  fs::rename(run / "new", run / "metrics.jsonl");
  ask_runs("follow", {{"run", id}, {"once", true}, {"from", next}});
  ASSERT_FALSE(told_.empty());
  EXPECT_EQ(told_[0].find("reset")->flag(), true);
  EXPECT_EQ(told_[0].find("metrics")->items().size(), 3u);
}

TEST_F(RunsTest, ThatAreHostileAreReadWithinBounds) {
  const fs::path run = add_run("a", std::string(9 << 20, 'a') + "\n{\"step\":1}\n");
  std::ofstream(run / "events.jsonl") << std::string(100000, '[') << "\n"
                                      << R"({"event":"<script>"})"
                                      << "\n";
  const Answer history = ask_runs("history", {{"run", id_of("a")}});
  EXPECT_EQ(history.json.find("steps")->integer(), 1);
  fs::remove(run / "events.jsonl");
  ASSERT_EQ(mkfifo((run / "events.jsonl").c_str(), 0600), 0);
  EXPECT_THROW(ask_runs("report", {{"run", id_of("a")}}), UserError);
  fs::remove(run / "events.jsonl");
  fs::create_symlink("/dev/zero", run / "events.jsonl");
  EXPECT_THROW(ask_runs("report", {{"run", id_of("a")}}), UserError);
}

TEST_F(RunsTest, AreNamedByIdsAlone) {
  add_run("a", "{\"step\":1}\n");
  for (const std::string name : {"a", "runs/a", "../runs/a", "/etc", ""})
    EXPECT_THROW(ask_runs("history", {{"run", name}}), UserError) << name;
  EXPECT_THROW(ask("history", {.fields = {{"run", "x"}}}), UserError);
  EXPECT_EQ(ask("runs", {}).json.find("folders")->flag(), false);
  EXPECT_THROW(RunFolders({top_ / "nothing"}), UserError);
}

}  // namespace
}  // namespace tessera
