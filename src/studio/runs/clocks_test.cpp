// SPDX-License-Identifier: Apache-2.0
// True runs of a very small model: every slice of their traces is an instruction of the program
// that is simulated, and traces that somebody else wrote are an answer or a sentence.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <fstream>

#include "sim/cluster.h"
#include "studio/answers.h"
#include "studio/runs/run_folders.h"
#include "studio/runs/trace_lines.h"
#include "system/random_name.h"
#include "train/trainer.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

class ClocksTest : public testing::Test {
 protected:
  ClocksTest() : top_(fs::path(testing::TempDir()) / random_name()) { fs::create_directory(top_); }
  ~ClocksTest() override { fs::remove_all(top_); }

  fs::path train(const std::string& name, std::vector<std::string> more) const {
    const fs::path out = top_ / name;
    std::vector<std::string> overrides{"model.preset=tiny",
                                       "model.layers=4",
                                       "model.width=32",
                                       "model.heads=2",
                                       "model.kv_heads=2",
                                       "model.head_size=16",
                                       "model.mlp_size=64",
                                       "train.batch=8",
                                       "train.seq=16",
                                       "train.steps=2",
                                       "train.eval_every=1",
                                       "train.eval_batches=1",
                                       "run.trace_steps=2",
                                       "data.story_bytes=65536",
                                       "run.peak_gflops=10",
                                       "train.warmup_steps=1",
                                       "run.out=" + out.string(),
                                       "run.trace=" + (out / "trace.json").string()};
    overrides.insert(overrides.end(), more.begin(), more.end());
    Trainer(load_config({}, overrides), {.quiet = true}).run();
    return out;
  }
  Answer ask_clocks(const std::string& name, Json fields = Json::object()) {
    const RunFolders folders({top_});
    for (const FoundRun& run : folders.find_all())
      if (run.name.ends_with("/" + name)) fields["run"] = run.id;
    return ask("clocks", {.fields = std::move(fields), .runs = &folders});
  }
  // A run that has a config and this text for a trace.
  void write_run(const std::string& name, const std::string& config, const std::string& trace) {
    fs::create_directory(top_ / name);
    std::ofstream(top_ / name / "config.toml") << config;
    std::ofstream(top_ / name / "metrics.jsonl") << "";
    std::ofstream(top_ / name / "trace.json") << trace;
  }

  fs::path top_;
};

std::string text_of_file(const fs::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

double number_in(const Json& json, std::string_view name) { return *json.find(name)->number(); }
int64_t whole_in(const Json& json, std::string_view name) { return *json.find(name)->integer(); }

// Slices of the last step, counted without our reader.
int64_t slices_of_step(const fs::path& trace, int64_t step) {
  int64_t slices = 0;
  const auto events = nlohmann::json::parse(text_of_file(trace))["traceEvents"];
  for (const auto& event : events)
    if (event["ph"] == "X" && event["cat"] != "routine" && event["args"].value("step", 0) == step)
      ++slices;
  return slices;
}

TEST_F(ClocksTest, EverySliceOfARunIsOneInstructionOfItsSimulation) {
  const std::vector<std::vector<std::string>> runs{
      {"mesh=pp=2,dp=2", "train.microbatches=4", "plan.zero=1"},
      {"mesh=fsdp=2,tp=2", "plan.zero=3"},
      {"mesh=pp=2,tp=2", "train.microbatches=4", "plan.schedule=zb_h1"},
      {"mesh=cp=2", "plan.recompute=block"},
      {"train.microbatches=2"}};
  for (const std::vector<std::string>& settings : runs) {
    SCOPED_TRACE(settings.front());
    const fs::path out = train("run", settings);
    const Json told = ask_clocks("run").json;
    EXPECT_EQ(whole_in(told, "step"), 2);
    EXPECT_EQ(whole_in(told, "aligned_slices"), slices_of_step(out / "trace.json", 2));
    const Json& unaligned = *told.find("unaligned");
    for (const char* none : {"unknown_slices", "only_measured", "only_simulated"})
      EXPECT_EQ(whole_in(unaligned, none), 0) << none;
    EXPECT_GT(whole_in(unaligned, "slices_outside_steps"), 0);  // of the evaluation
    double sum = number_in(told, "outside_seconds");
    for (const Json& row : told.find("differences")->items()) {
      EXPECT_EQ(whole_in(row, "measured_slices"), whole_in(row, "simulated_slices")) << row.dump();
      if (!*row.find("hidden")->flag()) sum += number_in(row, "measured_seconds");
    }
    EXPECT_NEAR(sum, number_in(told, "measured_seconds"), 1e-9);
    fs::remove_all(out);
  }
}

TEST_F(ClocksTest, LargestDifferencesComeFirstAndTransfersBesideKernelsLast) {
  train("run", {"mesh=fsdp=2", "plan.zero=3"});
  const Json told = ask_clocks("run").json;
  double last = 1e9;
  bool hidden = false;
  for (const Json& row : told.find("differences")->items()) {
    if (*row.find("hidden")->flag() != hidden) {
      EXPECT_FALSE(hidden);
      hidden = true;
      last = 1e9;
    }
    EXPECT_LE(std::abs(number_in(row, "difference_seconds")), last);
    last = std::abs(number_in(row, "difference_seconds"));
  }
  EXPECT_TRUE(hidden);
}

TEST_F(ClocksTest, BothTimelinesAreInTheColumns) {
  train("run", {"mesh=pp=2", "train.microbatches=2"});
  const Answer answer = ask_clocks("run", {{"step", 1}});
  EXPECT_EQ(whole_in(answer.json, "step"), 1);
  int64_t measured = 0;
  for (const Json& rank : answer.json.find("ranks")->items())
    measured += rank.find("measured") != nullptr;
  EXPECT_EQ(measured, 2);
  const int64_t aligned = whole_in(answer.json, "aligned_slices");
  for (const Json& column : answer.json.find("columns")->items())
    EXPECT_EQ(whole_in(column, "count"), 2 * aligned) << column.dump();
}

TEST_F(ClocksTest, ATraceOfAnotherProgramIsSaid) {
  const fs::path run = train("run", {"mesh=pp=2", "train.microbatches=2"});
  const fs::path other = train("other", {"mesh=pp=2", "train.microbatches=4"});
  fs::copy_file(run / "trace.json", other / "trace.json", fs::copy_options::overwrite_existing);
  try {
    EXPECT_GT(whole_in(*ask_clocks("other").json.find("unaligned"), "unknown_slices"), 0);
  } catch (const UserError& error) {
    EXPECT_NE(error.message().find("no slice"), std::string::npos);
  }
  EXPECT_THROW(ask_clocks("run", {{"step", 9}}), UserError);
}

TEST_F(ClocksTest, ThatAreHostileAreAnAnswerOrASentence) {
  const fs::path run = train("run", {"mesh=pp=2", "train.microbatches=2"});
  const std::string config = text_of_file(run / "config.toml"),
                    trace = text_of_file(run / "trace.json");
  write_run("empty", config, "");
  write_run("deep", config, std::string(100000, '['));
  write_run("cut", config, trace.substr(0, trace.size() / 3));
  write_run(
      "odd", config,
      R"({"ph":"X","cat":"kernel","pid":-1,"ts":0,"dur":1,"args":{}})"
      "\n"
      R"({"ph":"X","cat":"kernel","pid":7,"ts":0,"dur":1,"args":{"step":1,"call":0,"index":0,"microbatch":0}})"
      "\n");
  write_run("no_config", "mesh = 7", trace);
  write_run("large", config + "\n", trace);
  std::ofstream(top_ / "large/config.toml") << std::string(2 << 20, '#');
  write_run("schedule", config, trace);
  std::string names_file = config;
  names_file.replace(names_file.find("actions = \"\""), 12, "actions = \"/etc/passwd\"");
  std::ofstream(top_ / "schedule/config.toml") << names_file;
  write_run("linked", config, "");
  fs::remove(top_ / "linked/trace.json");
  fs::create_symlink(run / "trace.json", top_ / "linked/trace.json");
  write_run("cluster", config, trace);
  std::ofstream(top_ / "cluster/cluster.toml") << "name = 3";
  for (const char* name :
       {"empty", "deep", "odd", "no_config", "large", "schedule", "linked", "cluster"})
    EXPECT_THROW(ask_clocks(name), UserError) << name;
  EXPECT_GT(whole_in(ask_clocks("cut").json, "aligned_slices"), 0);
  write_run("simulated", config, trace);
  std::ofstream(top_ / "simulated/events.jsonl")
      << Json{{"event", "start"}, {"facts", to_json(RunFacts{.source = "simulate"})}}.dump()
      << "\n";
  EXPECT_THROW(ask_clocks("simulated"), UserError);
  EXPECT_THROW(ask("clocks", {.fields = {{"run", "run"}}}), UserError);
}

TEST_F(ClocksTest, ACalibratedClusterInTheFolderIsTaken) {
  const fs::path run = train("run", {"mesh=dp=2"});
  EXPECT_EQ(*ask_clocks("run").json.find("cluster")->text(), "laptop, built in");
  Cluster own = load_cluster("laptop");
  own.calibrated = true;
  own.device.peak_flops.begin()->second.value *= 1e-3;
  const double before = number_in(ask_clocks("run").json, "simulated_seconds");
  std::ofstream(run / "cluster.toml") << to_toml(own);
  const Json told = ask_clocks("run").json;
  EXPECT_EQ(*told.find("cluster")->text(), "cluster.toml of the run");
  EXPECT_TRUE(*told.find("calibrated")->flag());
  EXPECT_GT(number_in(told, "simulated_seconds"), 10 * before);
}

TEST(TraceLines, WithNumbersOutOfBoundsNameNoInstruction) {
  const auto line = [](const std::string& args, const std::string& dur = "1") {
    return parse_trace_line(R"({"ph":"X","cat":"kernel","pid":0,"ts":1,"dur":)" + dur +
                            R"(,"args":{"microbatch":0,)" + args + "}},");
  };
  EXPECT_EQ(line(R"("step":1,"call":2,"index":3)")->index, 3);
  EXPECT_EQ(line(R"("step":1,"call":-2,"index":3)")->step, 0);
  EXPECT_EQ(line(R"("step":1.5,"call":2,"index":3)")->step, 0);
  EXPECT_EQ(line(R"("step":1,"call":2,"index":99999999999)")->step, 0);
  EXPECT_FALSE(line(R"("step":1,"call":2,"index":3)", "-1"));
  EXPECT_FALSE(line(R"("step":1,"call":2,"index":3)", "1e300"));
  EXPECT_FALSE(line(R"("step":1,"call":2,"index":3)", "\"1\""));
  EXPECT_FALSE(parse_trace_line("\xff{"));
}

}  // namespace
}  // namespace tessera
