// SPDX-License-Identifier: Apache-2.0
// What a page may ask of runs, and what it may not. tests/studio/started.py starts real ones.
#include "studio/runs/started_runs.h"

#include <gtest/gtest.h>

#include <fstream>

#include "core/error.h"
#include "core/testing/temporary_folder.h"
#include "studio/answers.h"
#include "studio/runs/order_of_run.h"
#include "studio/runs/run_folders.h"

namespace tessera {
namespace {

class StartedRunsTest : public testing::Test {
 protected:
  std::string refused(std::string_view kind, const Json& fields, bool allowed = true) {
    try {
      ask(kind, {.fields = fields, .runs = &runs_, .started = allowed ? &started_ : nullptr});
    } catch (const UserError& error) {
      return error.message();
    }
    return "";
  }
  bool is_empty() const { return std::filesystem::is_empty(folder_.path()); }

  TemporaryFolder folder_;
  RunFolders runs_{{folder_.path()}};
  StartedRuns started_{folder_.path()};
};

TEST_F(StartedRunsTest, NeedTheFlag) {
  for (const char* kind : {"start", "resume", "stop", "kill", "generate", "chat", "offers"})
    EXPECT_NE(refused(kind, Json::object(), false).find("without --allow-runs"), std::string::npos)
        << kind;
  EXPECT_TRUE(is_empty());
}

TEST_F(StartedRunsTest, HaveNamesThatAreNoPaths) {
  for (const std::string name : {"", ".", "..", "../a", "/etc", "a/b", "-a", "A", "a b", "a\n",
                                 "checkpoints", "<script>", "$(id)", "a;b", "\xc3\xa4"})
    EXPECT_NE(refused("start", {{"name", name}}), "") << name;
  EXPECT_NE(refused("start", {{"name", std::string(49, 'a')}}), "");
  EXPECT_NE(refused("start", {{"name", std::string("a\0b", 3)}}), "");
  EXPECT_TRUE(is_empty());
}

TEST_F(StartedRunsTest, HaveFieldsThatAreChecked) {
  const std::vector<Json> hostile = {{{"model", "../../x"}},
                                     {{"model", "--out=/tmp/x"}},
                                     {{"model", "custom"}},
                                     {{"mesh", "dp=2 --out /tmp/x"}},
                                     {{"mesh", "dp=2,run.out=x"}},
                                     {{"mesh", "dp=1000"}},
                                     {{"mesh", "tp=3"}},
                                     {{"ranks_as", "sh"}},
                                     {{"steps", 0}},
                                     {{"steps", "10; id"}},
                                     {{"save_every", -1}},
                                     {{"batch", 1e30}},
                                     {{"batch", 1 << 16}, {"seq", 1 << 16}},
                                     {{"model", "llama3-8b"}},
                                     {{"out", "/tmp/x"}},
                                     {{"config", "/etc/passwd"}},
                                     {{"set", Json{{"run.out", "/tmp/x"}}}}};
  for (const Json& fields : hostile) EXPECT_NE(refused("start", fields), "") << fields.dump();
  EXPECT_TRUE(is_empty());
}

TEST_F(StartedRunsTest, BecomeAWordForEachField) {
  const RunOrder order = read_order({{"mesh", "dp=2"}, {"steps", 30}, {"save_every", 10}});
  EXPECT_EQ(order.ranks, 2);
  EXPECT_EQ(
      order.words("/runs/a", true),
      (std::vector<std::string>{"train", "--supervise", "--resume", "--set", "model.preset=tiny",
                                "--set", "train.steps=30", "--set", "checkpoint.every=10", "--set",
                                "train.seed=1", "--set", "mesh=dp=2", "--out", "/runs/a"}));
  EXPECT_EQ(read_order(order.json()).words("/runs/a", true), order.words("/runs/a", true));
}

TEST_F(StartedRunsTest, AreTheOnlyOnesThatGetSignals) {
  std::filesystem::create_directory(folder_.path() / "other");
  std::ofstream(folder_.path() / "other" / "run.json") << "{}";
  const Json run{{"run", run_id(folder_.path() / "other")}};
  EXPECT_NE(refused("stop", run).find("did not start"), std::string::npos);
  EXPECT_NE(refused("resume", run).find("did not start"), std::string::npos);
  Json kill = run;
  kill["rank"] = 0;
  EXPECT_NE(refused("kill", kill).find("did not start"), std::string::npos);
  EXPECT_NE(refused("kill", {{"run", "1"}, {"rank", 0}}).find("no run 1"), std::string::npos);
  kill["pid"] = 1;
  EXPECT_NE(refused("kill", kill).find("field pid"), std::string::npos);
}

TEST_F(StartedRunsTest, AreResumedFromWhatTheirFolderSaysOnlyWhereItIsAnOrder) {
  const std::filesystem::path run = folder_.path() / "other";
  std::filesystem::create_directory(run);
  for (const char* text : {"", "[]", R"({"model":"tiny","out":"/tmp/x"})", R"({"model":"/x"})",
                           R"({"mesh":"dp=2","ranks_as":"sh"})", R"({"model":"tiny"})"}) {
    std::ofstream(run / "studio.json") << text;
    EXPECT_NE(refused("resume", {{"run", run_id(run)}}), "") << text;
  }
}

}  // namespace
}  // namespace tessera
