// SPDX-License-Identifier: Apache-2.0
#include "studio/answers.h"

#include <gtest/gtest.h>

#include <set>

#include "config/config_fields.h"
#include "core/testing/user_error_of.h"
#include "models/presets.h"
#include "sim/cluster.h"
#include "studio/testing/sample_runs.h"

namespace tessera {
namespace {

const Json& field(const Json& json, std::string_view name) {
  const Json* found = json.find(name);
  if (!found) throw std::out_of_range(std::string(name));
  return *found;
}

TEST(Answers, EveryKindHasANameOfItsOwnAndASummary) {
  std::set<std::string_view> names;
  for (const QuestionKind& kind : question_kinds()) {
    EXPECT_TRUE(names.insert(kind.name).second) << kind.name;
    EXPECT_FALSE(kind.summary.empty()) << kind.name;
  }
}

TEST(Answers, EveryKindRefusesAFieldThatItDoesNotKnow) {
  for (const QuestionKind& kind : question_kinds())
    EXPECT_EQ(user_error_of([&] { ask(kind.name, question_of(R"({"nothing":1})")); }),
              kind.summary.ends_with("(--allow-runs)")
                  ? "Studio was started without --allow-runs, and only reads"
                  : "the question has a field nothing, which is not known")
        << kind.name;
}

TEST(Answers, AnUnknownKindIsRefused) {
  EXPECT_EQ(user_error_of([] { ask("weather", {}); }), "there is no question weather");
}

TEST(Answers, TextThatIsNoObjectIsRefused) {
  EXPECT_EQ(user_error_of([] { parse_question("{"); }), "the question is not JSON");
  EXPECT_EQ(user_error_of([] { parse_question("[1]"); }), "the question is no JSON object");
  EXPECT_EQ(user_error_of([] { parse_question(R"({"a":[[[[[[[[[[1]]]]]]]]]]})"); }),
            "the question is nested more than 8 deep");
  EXPECT_EQ(user_error_of([] { parse_question(std::string((1 << 20) + 1, ' ')); }),
            "the question has 1048577 bytes, but may have 1048576");
}

TEST(Answers, ARunNamesNoFile) {
  EXPECT_EQ(user_error_of([] { ask("try", asking(R"({"cluster":"/etc/passwd"})")); }),
            "there is no cluster /etc/passwd");
  EXPECT_EQ(user_error_of([] {
              ask("try", asking(R"({"set":{"plan.schedule":"custom","plan.actions":"/etc/x"}})"));
            }),
            "plan.actions names a file, which a question may not");
}

TEST(Answers, AStepThatIsTooLongIsRefused) {
  EXPECT_EQ(user_error_of([] {
              ask("try", asking(R"({"set":{"model.layers":"10000","train.batch":"16384",)"
                                R"("train.microbatches":"16384"}})"));
            }),
            "a step of 10000 layers and 16384 microbatches is too long to answer at once");
}

TEST(Answers, KeysAreThoseOfAConfig) {
  const Json answer = ask("keys", {}).json;
  std::set<std::string> keys;
  for (const Json& row : field(answer, "keys").items()) {
    keys.insert(*field(row, "key").text());
    EXPECT_NE(field(row, "help").text(), nullptr);
    if (*field(row, "type").text() == "choice") {
      EXPECT_FALSE(field(row, "choices").items().empty());
    }
  }
  Config config;
  for (const ConfigField& each : config_fields(config))
    EXPECT_TRUE(keys.contains(std::string(each.key))) << each.key;
  EXPECT_TRUE(keys.contains("model.layers"));
  EXPECT_TRUE(keys.contains("mesh"));
}

TEST(Answers, ListEveryPresetAndCluster) {
  EXPECT_EQ(field(ask("presets", {}).json, "presets").items().size(), presets().size());
  EXPECT_EQ(field(ask("clusters", {}).json, "clusters").items().size(), cluster_names().size());
}

TEST(Answers, TryTellsTheBytesOfEveryStage) {
  for (const std::string& run : sample_runs()) {
    const Json answer = ask("try", asking(run)).json;
    int64_t most = 0;
    for (const Json& stage : field(answer, "stages").items())
      most = std::max(most, *field(stage, "peak_bytes").integer());
    EXPECT_EQ(most, *field(answer, "peak_bytes").integer()) << run;
    double parts = 0;
    for (const JsonMember& part : field(answer, "parts").members()) parts += *part.value.number();
    EXPECT_NEAR(parts, *field(answer, "step_seconds").number(), 1e-9 * parts) << run;
  }
}

TEST(Answers, ExposedSecondsOfCollectivesAndCopiesAreThoseOfTheirRank) {
  for (const std::string& run : sample_runs()) {
    const Json answer = ask("try", asking(run)).json;
    double exposed = *field(answer, "copies_exposed_seconds").number();
    for (const Json& row : field(answer, "collectives").items()) {
      exposed += *field(row, "exposed_seconds").number();
      EXPECT_LE(*field(row, "exposed_seconds").number(), *field(row, "seconds").number() + 1e-9);
    }
    for (const Json& rank : field(answer, "results").items())
      if (*field(rank, "rank").integer() == *field(answer, "collectives_rank").integer()) {
        EXPECT_NEAR(exposed, *field(rank, "exposed_communication_seconds").number(), 1e-9) << run;
      }
  }
}

// A reduce_scatter is given its whole input, an all_gather a piece of its result.
TEST(Answers, SentBytesOfGathersAndScattersAreComparable) {
  const Json answer = ask("try", asking(R"({"set":{"mesh":"fsdp=2","train.batch":"4"}})")).json;
  int found = 0;
  for (const Json& row : field(answer, "collectives").items()) {
    const auto given = static_cast<double>(*field(row, "bytes").integer());
    const double sent = *field(row, "sent_bytes").number();
    const std::string& op = *field(row, "op").text();
    if (op != "all_gather" && op != "reduce_scatter") continue;
    EXPECT_DOUBLE_EQ(sent, op == "all_gather" ? given : given / 2);
    ++found;
  }
  EXPECT_EQ(found, 2);
}

TEST(Answers, CommandQuotesWhatAShellWouldRead) {
  const Json answer = ask("try", asking(R"({"set":{"run.out":"a b'$c","train.batch":"4"}})")).json;
  EXPECT_EQ(*field(answer, "command").text(),
            "tessera simulate --cluster laptop --set 'run.out=a b'\\''$c' --batch 4");
}

TEST(Answers, NeighboursKeepTheNumberOfRanks) {
  const Json answer = ask("neighbours", asking(sample_runs()[3])).json;
  EXPECT_EQ(*field(answer, "from").text(), "fsdp");
  const Json& axes = field(answer, "axes");
  EXPECT_EQ(axes.items().size(), 5u);
  const Json& pp = axes.items()[0];
  EXPECT_EQ(*field(field(pp, "up"), "mesh").text(), "pp=8,fsdp=4,tp=2");
  EXPECT_EQ(*field(field(pp, "down"), "mesh").text(), "pp=2,fsdp=16,tp=2");
  const Json& dp = axes.items()[1];
  EXPECT_EQ(*field(field(dp, "up"), "mesh").text(), "pp=4,dp=2,fsdp=4,tp=2");
  EXPECT_TRUE(field(dp, "down").is_null());
}

TEST(Answers, ANeighbourThatDoesNotDivideCarriesTheCompilersSentence) {
  const Json answer = ask("neighbours", asking(R"({"model":"tiny","cluster":"dgx-h100",)"
                                               R"("set":{"mesh":"fsdp=4,tp=4"}})"))
                          .json;
  const Json& tp = field(answer, "axes").items()[4];
  EXPECT_EQ(*field(field(field(tp, "up"), "error"), "what").text(),
            "cannot shard heads (4) over tp (8)");
}

// The figures of a plan that was found are those of the run that its settings stand for.
void expect_to_load(const Json& row, const char* model, const char* cluster) {
  Question loaded;
  loaded.fields["run"] = Json{{"model", model}, {"cluster", cluster}};
  loaded.fields["run"]["set"] = field(row, "set");
  loaded.fields["run"]["set"]["train.batch"] = "16";
  const Json again = ask("try", loaded).json;
  EXPECT_EQ(*field(again, "step_seconds").number(), *field(row, "step_seconds").number());
  EXPECT_EQ(*field(again, "peak_bytes").integer(), *field(row, "peak_bytes").integer());
}

TEST(Answers, SearchFindsWhatThePlannerFindsAndTellsHowFarItIs) {
  Question question = asking(R"({"model":"tiny","cluster":"laptop","set":{"train.batch":"16"}})",
                             R"("ranks":2,"why_not":["tp=2"])");
  const Json answer = ask("search", question).json;
  EXPECT_TRUE(*field(answer, "done").flag());
  EXPECT_FALSE(field(answer, "results").items().empty());
  EXPECT_EQ(field(answer, "why_not").items().size(), 1u);
  expect_to_load(field(answer, "results").items()[0], "tiny", "laptop");
}

TEST(Answers, APlanOfASearchLoadsWithTheWayItsRowsTravel) {
  const Json answer = ask("search", asking(R"({"model":"tiny-moe","cluster":"laptop",)"
                                           R"("set":{"train.batch":"16","mesh":"ep=4",)"
                                           R"("plan.dispatch":"exchange"}})",
                                           R"("fixed":["plan.dispatch"])"))
                          .json;
  int exchanged = 0;
  for (const Json& row : field(answer, "results").items()) {
    exchanged += field(row, "set").find("plan.dispatch") != nullptr;
    expect_to_load(row, "tiny-moe", "laptop");
  }
  EXPECT_GT(exchanged, 0);
}

TEST(Answers, ASearchWhoseDispatchIsAutoChoosesItAsOneThatIsNotTold) {
  const Json free =
      ask("search", asking(R"({"model":"tiny-moe","cluster":"laptop"})", R"("ranks":2)")).json;
  const Json told = ask("search", asking(R"({"model":"tiny-moe","cluster":"laptop",)"
                                         R"("set":{"plan.dispatch":"auto"}})",
                                         R"("ranks":2,"fixed":["plan.dispatch"])"))
                        .json;
  EXPECT_EQ(field(told, "dropped"), field(free, "dropped"));
  EXPECT_EQ(field(told, "simulated"), field(free, "simulated"));
}

TEST(Answers, WhyNotFromGivenResultsIsThatOfTheSearch) {
  const std::string run = R"({"model":"tiny","cluster":"laptop","set":{"train.batch":"16"}})";
  const Json found = ask("search", asking(run, R"("ranks":2,"why_not":["tp=2"])")).json;
  Question question = asking(run, R"("ranks":2,"plan":"tp=2")");
  question.fields["results"] = Json::array();
  for (const Json& row : field(found, "results").items())
    question.fields["results"].push_back(field(row, "plan"));
  const Json why = ask("why_not", question).json;
  EXPECT_EQ(*field(why, "reason").text(),
            *field(field(found, "why_not").items()[0], "reason").text());
}

TEST(Answers, ASearchTellsItsBestPlansWhileItRuns) {
  Question question =
      asking(R"({"model":"llama3-8b","cluster":"llama3-h100","set":{"train.batch":"512"}})",
             R"("ranks":64)");
  size_t told = 0;
  question.tell = [&](const Json& part) {
    EXPECT_LE(*field(part, "fit").number(), *field(part, "simulated").number());
    if (!part.find("results")) return true;
    told = field(part, "results").items().size();
    EXPECT_NE(field(field(part, "results").items()[0], "set").find("mesh"), nullptr);
    return false;
  };
  EXPECT_TRUE(*field(ask("search", question).json, "cancelled").flag());
  EXPECT_GT(told, 0u);
}

TEST(Answers, ASearchEndsWhenNobodyListens) {
  Question question =
      asking(R"({"model":"llama3-8b","cluster":"llama3-h100","set":{"train.batch":"512"}})",
             R"("ranks":64)");
  int parts = 0;
  question.tell = [&](const Json&) { return ++parts < 2; };
  const Json answer = ask("search", question).json;
  EXPECT_TRUE(*field(answer, "cancelled").flag());
  EXPECT_EQ(parts, 2);
}

TEST(Answers, ScheduleListsEachActionOnce) {
  const Json answer =
      ask("schedule", question_of(R"({"kinds":["zb_v"],"stages":3,"microbatches":4})")).json;
  const Json& schedule = field(answer, "schedules").items()[0];
  size_t actions = 0;
  for (const Json& rank : field(schedule, "actions").items()) actions += rank.items().size();
  EXPECT_EQ(actions, 3u * 2 * 4 * 3);  // stages, chunks, microbatches; F, I and W
}

TEST(Answers, VerifyRunsThePlan) {
  const Json answer = ask("verify", asking(R"({"set":{"mesh":"dp=2,tp=2"}})")).json;
  EXPECT_EQ(*field(answer, "verdict").text(), "equal");
}

TEST(Answers, VerifySaysWhichStepRunsAndEndsWhenNobodyListens) {
  Question question = asking(R"({"set":{"mesh":"dp=2"}})");
  std::vector<std::string> told;
  question.tell = [&](const Json& part) {
    told.push_back(part.dump());
    return told.size() < 3;
  };
  const Json answer = ask("verify", question).json;
  EXPECT_EQ(told, (std::vector<std::string>{R"({"step":1,"steps":2,"ranks":1,"done":false})",
                                            R"({"step":1,"steps":2,"ranks":2,"done":false})",
                                            R"({"step":2,"steps":2,"ranks":1,"done":false})"}));
  EXPECT_TRUE(field(answer, "cancelled").flag().value());
}

}  // namespace
}  // namespace tessera
