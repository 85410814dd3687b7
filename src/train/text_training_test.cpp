// SPDX-License-Identifier: Apache-2.0
// Runs on text: tokens that are made ahead of the step must not show in the numbers.
#include <gtest/gtest.h>

#include "core/testing/temporary_folder.h"
#include "core/testing/user_error_of.h"
#include "data/tokenize_corpus.h"
#include "files/testing/packed.h"
#include "tokenizer/testing/made_tokenizer.h"
#include "tokenizer/testing/mixed_text.h"
#include "train/trainer.h"

namespace tessera {
namespace {

constexpr const char* kTextEnd = R"([{"id":900,"content":"<|endoftext|>","special":true}])";

class TextTrainingTest : public testing::Test {
 protected:
  TextTrainingTest() {
    folder_.write("tokenizer.json", made_tokenizer_json({.rule = kLlama3Rule, .added = kTextEnd}));
    for (uint64_t file = 0; file < 2; ++file) {
      std::string lines;
      for (uint64_t i = 0; i < 120; ++i)
        lines += fmt::format("{{\"body\": \"{} the thing of {}, {}\"}}\n", i, file,
                             std::string(20 + i % 100, 'a'));
      const std::string packed = file == 0 ? gzip_of(lines) : zstd_of(lines);
      folder_.write(fmt::format("text/{}.jsonl.{}", file, file == 0 ? "gz" : "zst"), packed);
    }
  }

  std::string at(const std::string& name) const { return (folder_.path() / name).string(); }

  Config config(const std::string& run, const std::vector<std::string>& more) const {
    std::vector<std::string> overrides{"model.preset=tiny",
                                       "model.layers=1",
                                       "model.width=32",
                                       "model.heads=2",
                                       "model.kv_heads=1",
                                       "model.head_size=16",
                                       "model.mlp_size=64",
                                       "model.vocabulary=912",
                                       "train.batch=4",
                                       "train.seq=24",
                                       "train.steps=8",
                                       "train.warmup_steps=2",
                                       "train.schedule=constant",
                                       "train.eval_every=4",
                                       "train.eval_batches=2",
                                       "train.threads=2",
                                       "run.peak_gflops=100",
                                       "data.document_mask=true",
                                       "data.cache=" + at("cache"),
                                       "run.out=" + at(run)};
    overrides.insert(overrides.end(), more.begin(), more.end());
    return load_config(std::nullopt, overrides);
  }
  std::vector<std::string> of_text(std::vector<std::string> more = {}) const {
    more.push_back("data.path=" + at("text/*.jsonl.*"));
    more.push_back("data.tokenizer=" + at("tokenizer.json"));
    more.push_back("data.field=body");
    return more;
  }
  std::vector<std::string> of_tokens(const std::string& out,
                                     std::vector<std::string> more = {}) const {
    more.push_back("data.path=" + at(out + "/*.bin"));
    more.push_back("data.document_end=900");
    return more;
  }

  TrainSummary train(const Config& config, bool resume = false) const {
    return Trainer(config, {.resume = resume, .quiet = true}).run();
  }
  void tokenize(const std::string& out, bool shuffle, double held_out) const {
    tokenize_corpus({.tokens = {.documents = {.paths = {at("text/*.jsonl.*")},
                                              .field = "body",
                                              .shuffle = shuffle,
                                              .held_out = held_out},
                                .tokenizer = at("tokenizer.json")},
                     .out = at(out)});
  }
  TemporaryFolder folder_;
};

// To the bit: the same samples in the same order.
TEST_F(TextTrainingTest, TokensMadeAheadGiveTheLossesOfTokenizingFirst) {
  tokenize("tokens", /*shuffle=*/true, 0.1);
  const TrainSummary first = train(
      config("first", of_tokens("tokens", {"data.shuffle=blocks",
                                           "data.held_out_path=" + at("tokens/held_out/*.bin")})));
  const TrainSummary ahead = train(config("ahead", of_text({"data.held_out=0.1"})));
  EXPECT_EQ(ahead.losses, first.losses);
  ASSERT_TRUE(ahead.held_out_loss);
  EXPECT_EQ(ahead.held_out_loss, first.held_out_loss);
}

TEST_F(TextTrainingTest, TokensMadeBeforeTheFirstStepGiveThemToo) {
  tokenize("tokens", /*shuffle=*/false, 0);
  const std::vector<std::string> windows{"data.held_out=0.1", "data.shuffle=windows",
                                         "data.split=tokens"};
  const TrainSummary first = train(config("first", of_tokens("tokens", windows)));
  const TrainSummary made = train(config("made", of_text(windows)));
  EXPECT_EQ(made.losses, first.losses);
  EXPECT_EQ(made.held_out_loss, first.held_out_loss);
}

// On another mesh, with and without the tokens that the first run has made, into a later epoch.
TEST_F(TextTrainingTest, GoesOnAtItsSampleWithAndWithoutTheTokensOfBefore) {
  const std::vector<std::string> shared = of_text(
      {"train.precision=fp64", "data.held_out=0.1", "train.steps=200", "train.eval_every=100"});
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), shared.begin(), shared.end());
    return more;
  };
  const TrainSummary whole = train(config("whole", shared));
  for (const bool keeps : {true, false}) {
    const std::string run = keeps ? "keeps" : "makes";
    train(config(run, with({"train.steps=150", "checkpoint.every=150", "mesh=dp=2"})));
    if (!keeps) std::filesystem::remove_all(at("cache"));
    const TrainSummary rest =
        train(config(run, with({"checkpoint.every=100", "mesh=tp=2"})), /*resume=*/true);
    ASSERT_EQ(rest.losses.size(), 50u);
    for (size_t i = 0; i < 50; ++i) EXPECT_NEAR(rest.losses[i], whole.losses[i + 150], 1e-9);
    EXPECT_NEAR(*rest.held_out_loss, *whole.held_out_loss, 1e-9);
  }
}

// Sample n would be another. Half of a file's bytes are as they were.
TEST_F(TextTrainingTest, ResumesOnTheTextsThatItBeganWithAlone) {
  const auto write = [&](const std::string& first) {
    folder_.write("books/a.txt", first + std::string(3000, 'a'));
  };
  write("once");
  const std::vector<std::string> settings{"data.path=" + at("books"), "checkpoint.every=2"};
  const auto until = [&](const std::string& steps, std::vector<std::string> accepted) {
    std::vector<std::string> all = settings;
    all.push_back("train.steps=" + steps);
    return Trainer(config("run", all),
                   {.resume = steps != "2", .quiet = true, .accepted_changes = std::move(accepted)})
        .run();
  };
  until("2", {});
  EXPECT_EQ(until("4", {}).steps, 4);
  write("when");
  const std::string error = user_error_of([&] { until("6", {}); });
  EXPECT_EQ(error, "the data are not those that this run began with: " + at("books/a.txt") +
                       " has other content");
  EXPECT_EQ(until("6", {"data.path"}).steps, 6);
  EXPECT_EQ(until("8", {}).steps, 8);  // what was accepted is what it has now
}

TEST_F(TextTrainingTest, MixesTextWithTokens) {
  tokenize("tokens", false, 0);
  const std::vector<std::string> mixed{"data.mixture." + at("text/0.jsonl.gz") + "=0.5",
                                       "data.mixture." + at("tokens/*.bin") + "=0.5",
                                       "data.tokenizer=" + at("tokenizer.json"),
                                       "data.field=body",
                                       "data.document_end=900",
                                       "data.held_out=0.1"};
  const TrainSummary first = train(config("first", mixed)), second = train(config("second", mixed));
  EXPECT_EQ(first.losses, second.losses);
  EXPECT_TRUE(first.held_out_loss);
}

}  // namespace
}  // namespace tessera
