// SPDX-License-Identifier: Apache-2.0
#include "train/resume_changes.h"

#include <gtest/gtest.h>

#include "core/error.h"

namespace tessera {
namespace {

Config with(std::vector<std::string> overrides) { return load_config(std::nullopt, overrides); }

CheckpointFacts saved_with(const Config& config, int64_t step = 10) {
  return {.position = {.step = step}, .seed = 0, .mesh = "1", .config_toml = to_toml(config)};
}

std::string keys_of(const std::vector<ConfigChange>& changes) {
  std::string keys;
  for (const ConfigChange& change : changes)
    keys += fmt::format("{}{}", keys.empty() ? "" : " ", change.key);
  return keys;
}

TEST(ResumeChanges, TheSameConfigChangesNothing) {
  const Config config = with({"model.rope_theta=5", "train.batch=8", "mesh=dp=2"});
  EXPECT_TRUE(resume_changes(saved_with(config), config).empty());
}

TEST(ResumeChanges, MathsAndDataAreRefusedByName) {
  const CheckpointFacts saved = saved_with(with({}));
  for (const std::string change :
       {"model.rope_theta=5", "model.norm_epsilon=0.5", "data.seed=9", "data.path=other.txt",
        "train.seq=32", "train.learning_rate=0.5", "train.batch=8", "train.seed=7",
        "data.mixture.web.txt=1", "train.precision=bf16", "train.schedule=wsd",
        "train.group.*norm.learning_rate_factor=2"}) {
    const std::string key = change.substr(0, change.find('='));
    const auto changes = resume_changes(saved, with({change}));
    try {
      require_accepted(changes, {});
      ADD_FAILURE() << change << " passed";
    } catch (const UserError& error) {
      const std::string named = key.starts_with("data.mixture")  ? "data.mixture"
                                : key.starts_with("train.group") ? "train.group"
                                                                 : key;
      EXPECT_NE(error.message().find(named), std::string::npos) << error.message();
    }
  }
}

TEST(ResumeChanges, MeshPlanStepsAndLoggingPass) {
  const Config now = with({"mesh=dp=2,tp=2", "plan.zero=1", "train.steps=5000", "train.log_every=3",
                           "train.microbatches=2", "checkpoint.every=7", "run.out=elsewhere"});
  const auto changes = resume_changes(saved_with(with({})), now);
  EXPECT_EQ(keys_of(changes),
            "train.steps train.microbatches train.log_every checkpoint.every plan.zero run.out "
            "mesh");
  require_accepted(changes, {});
}

TEST(ResumeChanges, ATokenizerThatMakesTheTokensIsRefusedAndOneThatShowsThemIsNot) {
  const auto change = [](const std::string& path) {
    const CheckpointFacts saved = saved_with(with({"data.path=" + path}));
    return resume_changes(saved,
                          with({"data.path=" + path, "data.tokenizer=t.json", "data.cache=c"}));
  };
  EXPECT_EQ(keys_of(change("a.bin")), "data.tokenizer data.cache");
  require_accepted(change("a.bin"), {});
  EXPECT_THROW(require_accepted(change("a.jsonl"), {}), UserError);
}

TEST(ResumeChanges, AcceptedKeysAndSectionsPassAndOthersDoNot) {
  const Config now = with({"train.learning_rate=0.5", "data.seed=9"});
  const auto changes = resume_changes(saved_with(with({})), now);
  const std::vector<std::string> both{"train.learning_rate", "data"}, one{"data.seed"},
      beginning{"train.learning"};
  require_accepted(changes, both);
  EXPECT_THROW(require_accepted(changes, one), UserError);
  EXPECT_THROW(require_accepted(changes, beginning), UserError);
}

TEST(ResumeChanges, OfAModelThatWasNeverTrainedOnlyTheModelCounts) {
  const CheckpointFacts imported = saved_with(with({}), /*step=*/0);
  EXPECT_TRUE(resume_changes(imported, with({"train.batch=8", "data.path=a.txt"})).empty());
  EXPECT_EQ(keys_of(resume_changes(imported, with({"model.rope_theta=5"}))), "model.rope_theta");
}

TEST(ResumeChanges, AnUnknownKeyToAcceptIsNamed) {
  const std::vector<std::string> misspelt{"train.learning_rat"},
      known{"train", "mesh", "data.path"};
  check_accepted_names(known);
  try {
    check_accepted_names(misspelt);
    ADD_FAILURE() << "passed";
  } catch (const UserError& error) {
    EXPECT_NE(error.message().find("did you mean train.learning_rate?"), std::string::npos);
  }
}

}  // namespace
}  // namespace tessera
