// SPDX-License-Identifier: Apache-2.0
// Runs on conversations: what is learned, on every mesh, resumed, with adapters, and that a model
// really answers.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "chat/chat_encoder.h"
#include "chat/chat_files.h"
#include "config/run_spec.h"
#include "core/testing/temporary_folder.h"
#include "data/token_sampler.h"
#include "data/training_data.h"
#include "inference/evaluate_model.h"
#include "inference/stored_model.h"
#include "inference/text_generator.h"
#include "train/continued_config.h"
#include "train/island_training.h"
#include "train/trainer.h"

namespace tessera {
namespace {

// Two letters are answered with the two in the other order.
constexpr std::string_view kLetters = "abcdefgh";

std::string line_of(const std::string& asked, const std::string& answered) {
  return fmt::format(R"({{"messages": [{{"role": "user", "content": "{}"}}, )"
                     R"({{"role": "assistant", "content": "{}"}}]}})"
                     "\n",
                     asked, answered);
}

std::string turned(std::string text) {
  std::ranges::reverse(text);
  return text;
}

class ChatTraining : public testing::Test {
 protected:
  ChatTraining() {
    std::string lines, asked;
    for (const char first : kLetters)
      for (const char second : kLetters) {
        const std::string pair{first, second};
        (asks(pair) ? asked : lines) += line_of(pair, turned(pair));
      }
    folder_.write("chats.jsonl", lines);
    folder_.write("asked.jsonl", asked);
    std::string odd;  // lengths that fill no sample
    for (size_t i = 0; i < 60; ++i)
      odd += line_of(std::string(1 + i % 7, 'q'), std::string(1 + i * 5 % 13, 'r'));
    folder_.write("odd.jsonl", odd);
  }
  // Never learned.
  static bool asks(const std::string& pair) { return (pair[0] * 5 + pair[1]) % 9 == 0; }

  std::string at(const std::string& name) const { return (folder_.path() / name).string(); }

  std::vector<std::string> settings(const std::string& run, std::vector<std::string> more) const {
    std::vector<std::string> all{"model.layers=2",          "model.width=32",
                                 "model.heads=4",           "model.kv_heads=2",
                                 "model.head_size=8",       "model.mlp_size=64",
                                 "train.batch=4",           "train.seq=48",
                                 "train.steps=6",           "train.warmup_steps=2",
                                 "train.schedule=constant", "train.eval_every=3",
                                 "train.eval_batches=2",    "train.sample_every=0",
                                 "train.threads=1",         "run.peak_gflops=100",
                                 "data.source=chat",        "data.path=" + at("odd.jsonl"),
                                 "data.held_out=0.2",       "run.out=" + at(run)};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  TrainSummary train(const std::string& run, std::vector<std::string> more,
                     bool resume = false) const {
    const Config config = load_config(std::nullopt, settings(run, std::move(more)));
    return Trainer(config, {.resume = resume, .quiet = true}).run();
  }
  TrainSummary adapt(const std::string& from, const std::string& run, std::vector<std::string> more,
                     bool resume = false) const {
    const auto stored = open_stored_model(at(from));
    const ContinuedConfig continued = continued_config(*stored, {}, settings(run, std::move(more)));
    return Trainer(continued.config, {.resume = resume, .init_from = stored.get(), .quiet = true})
        .run();
  }

  TemporaryFolder folder_;
};

std::vector<std::string> with(std::vector<std::string> all, const std::vector<std::string>& more) {
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

void expect_near(const TrainSummary& summary, const TrainSummary& one, const std::string& what) {
  ASSERT_EQ(summary.losses.size(), one.losses.size()) << what;
  for (size_t i = 0; i < one.losses.size(); ++i)
    EXPECT_NEAR(summary.losses[i], one.losses[i], 1e-9) << what << ", step " << i + 1;
  ASSERT_TRUE(summary.held_out_loss && one.held_out_loss) << what;
  EXPECT_NEAR(*summary.held_out_loss, *one.held_out_loss, 1e-9) << what;
}

// Pieces of a batch have different numbers of learned tokens: the mean is that of all of them.
TEST_F(ChatTraining, HasTheSameLossesOnEveryMesh) {
  const std::vector<std::string> exact{"train.precision=fp64"};
  const TrainSummary one = train("one", exact);
  for (const std::vector<std::string>& plan :
       std::vector<std::vector<std::string>>{{"train.microbatches=4"},
                                             {"mesh=dp=4"},
                                             {"mesh=dp=2", "train.microbatches=2", "plan.zero=2"},
                                             {"mesh=tp=2", "plan.sequence_parallel=true"},
                                             {"mesh=cp=2"},
                                             {"mesh=pp=2", "train.microbatches=4"},
                                             {"mesh=fsdp=2", "plan.zero=3"}})
    expect_near(train(fmt::format("{}", fmt::join(plan, "_")), with(exact, plan)), one,
                fmt::format("{}", fmt::join(plan, " ")));
}

// Row n of the first batch, as a source of its own.
class OneRow : public SampleSource {
 public:
  OneRow(const SampleSource& samples, int64_t row) : samples_(samples), row_(row) {}
  std::span<const InputField> fields() const override { return samples_.fields(); }
  void fill(int64_t /*sample_index*/, Batch& batch, int64_t row) const override {
    samples_.fill(row_, batch, row);
  }

 private:
  const SampleSource& samples_;
  int64_t row_;
};

struct RowLoss {
  double sum;
  double labels;
};

// What the weights that a run begins with lose on each row of its first batch.
std::vector<RowLoss> first_rows(Config config, const std::string& out) {
  config.run.out = out;
  config.mesh = {};
  config.train.steps = 1;
  config.train.learning_rate = 0;
  config.checkpoint.every = 1;
  Trainer(config, {.quiet = true}).run();
  const auto stored = open_stored_model(out);
  const TrainingData data = open_training_data(config, resolve_model(config), DType::Fp64);
  config.train.batch = 1;
  std::vector<RowLoss> rows;
  for (int64_t row = 0; row < 4; ++row) {
    const Evaluation found =
        evaluate_model(*stored, config, OneRow(*data.train, row), 1, /*averaged=*/false);
    const auto labels = static_cast<double>(found.labels);
    rows.push_back({found.loss * labels, labels});
  }
  return rows;
}

double mean_of(std::span<const RowLoss> rows) {
  double sum = 0, labels = 0;
  for (const RowLoss& row : rows) {
    sum += row.sum;
    labels += row.labels;
  }
  return sum / labels;
}

TEST_F(ChatTraining, AveragesOverTheLearnedTokensOfTheBatch) {
  const Config config = load_config(std::nullopt, settings("run", {"train.precision=fp64"}));
  const std::vector<RowLoss> rows = first_rows(config, at("first"));
  EXPECT_NE(rows[0].labels, rows[1].labels);  // else one mean would be as good as another
  EXPECT_NEAR(Trainer(config, {.quiet = true}).run().first_loss, mean_of(rows), 1e-9);
}

TEST_F(ChatTraining, OfIslandsEachAveragesOverItsOwnTurns) {
  const Config config = load_config(
      std::nullopt,
      settings("islands", {"mesh=island=2", "islands.every=2", "train.precision=fp64"}));
  const std::vector<RowLoss> rows = first_rows(config, at("first"));
  const std::span<const RowLoss> all(rows);
  const double each = (mean_of(all.first(2)) + mean_of(all.last(2))) / 2;
  EXPECT_GT(std::abs(each - mean_of(all)), 1e-6);
  EXPECT_NEAR(train_islands(config, {.quiet = true}).first_loss, each, 1e-9);
}

// However many batches are asked for: none counts twice where there are few.
TEST_F(ChatTraining, EachHeldOutConversationCountsOnce) {
  const Config config = load_config(
      std::nullopt,
      settings("run", {"data.path=" + at("chats.jsonl"), "data.held_out_path=" + at("odd.jsonl"),
                       "train.eval_batches=30", "train.precision=fp64", "checkpoint.every=6"}));
  const TrainSummary summary = Trainer(config, {.quiet = true}).run();
  Config whole = config;
  whole.data.path = config.data.held_out_path;
  whole.data.held_out_path.clear();
  whole.data.held_out = 0;
  const TrainingData data = open_training_data(whole, resolve_model(whole), DType::Fp64);
  const int64_t samples = (data.tokens.front()->num_tokens() - 1) / whole.train.seq;
  EXPECT_NE(30 * whole.train.batch % samples, 0);
  const Evaluation all =
      evaluate_model(*open_stored_model(at("run")), whole, *data.train, samples, false);
  EXPECT_NEAR(*summary.held_out_loss, all.loss, 1e-9);
}

TEST_F(ChatTraining, GoesOnWithTheSameBits) {
  const TrainSummary whole = train("whole", {});
  train("cut", {"train.steps=3", "checkpoint.every=3"});
  const TrainSummary rest = train("cut", {"checkpoint.every=3"}, /*resume=*/true);
  ASSERT_EQ(rest.losses.size(), 3u);
  EXPECT_EQ(rest.losses, std::vector(whole.losses.begin() + 3, whole.losses.end()));
  EXPECT_EQ(rest.held_out_loss, whole.held_out_loss);
}

// The tokenizer of the base and its template are those of the data.
TEST_F(ChatTraining, AdaptersGoOnFromABaseInItsOwnFormat) {
  const std::string marks =
      "{% for m in messages %}<{{ m.role[0] }}>{{ m.content }};{% endfor %}"
      "{% if add_generation_prompt %}<a>{% endif %}";
  train("base",
        {"data.chat_template=" + folder_.write("own.jinja", marks).string(), "checkpoint.every=6"});
  EXPECT_EQ(read_text(at("base/chat_template.jinja")), marks);
  const std::vector<std::string> lora{"lora.rank=4", "train.learning_rate=0.02",
                                      "train.precision=fp64", "checkpoint.every=3"};
  const TrainSummary whole = adapt("base", "whole", lora);
  EXPECT_LT(whole.last_loss, whole.first_loss);
  EXPECT_EQ(read_text(at("whole/chat_template.jinja")), marks);
  adapt("base", "cut", with(lora, {"train.steps=3", "mesh=dp=2"}));
  const TrainSummary rest = adapt("base", "cut", with(lora, {"mesh=fsdp=2,tp=2"}), true);
  ASSERT_EQ(rest.losses.size(), 3u);
  for (size_t i = 0; i < 3; ++i) EXPECT_NEAR(rest.losses[i], whole.losses[i + 3], 1e-9);
}

std::string answer_of(const std::string& run, const std::string& asked) {
  const auto stored = open_stored_model(run);
  const Config config = config_of(*stored);
  const ChatTemplate chat = read_chat_template(run, nullptr, "");
  ChatEncoder encoder(chat, nullptr);
  TextGenerator generator(resolve_model(config), DType::Fp32, {.window = 48, .threads = 1});
  stored->load_weights(generator.executor(), false);
  std::string answer;
  const Json messages = Json::array({Json{{"role", "user"}, {"content", asked}}});
  generator.generate(encoder.prompt(messages), {.tokens = 20, .choice = {.temperature = 0}},
                     [&](int32_t token) {
                       if (token == encoder.answer_end()) return false;
                       answer += static_cast<char>(token);
                       return true;
                     });
  return answer;
}

// The pairs of the held-out conversations are in no other. What the run shows is what a person
// sees.
TEST_F(ChatTraining, AByteModelLearnsToAnswerAndShowsIt) {
  const Config config = load_config(
      std::nullopt,
      settings("run", {"data.path=" + at("chats.jsonl"), "data.held_out_path=" + at("asked.jsonl"),
                       "train.seq=64", "train.steps=300", "train.batch=16", "train.warmup_steps=20",
                       "train.schedule=cosine", "train.learning_rate=0.005", "train.weight_decay=0",
                       "train.eval_every=150", "train.eval_batches=1", "train.sample_every=-1",
                       "checkpoint.every=300", "train.threads=2"}));
  testing::internal::CaptureStderr();
  const TrainSummary summary = Trainer(config, {}).run();
  const std::string notes = testing::internal::GetCapturedStderr();
  EXPECT_GT(summary.first_loss, 4);
  EXPECT_LT(*summary.held_out_loss, 0.2);
  for (const char first : kLetters)
    for (const char second : kLetters) {
      const std::string pair{first, second};
      if (!asks(pair)) continue;
      EXPECT_EQ(answer_of(at("run"), pair), " " + turned(pair));
    }
  ASSERT_EQ(summary.samples.size(), 3u);  // before the first step, and with each held-out loss
  EXPECT_EQ(summary.samples[1].step, 150);
  const std::string last = summary.samples[2].text;  // a dot shows the end of a turn
  ASSERT_EQ(last.size(), 23u) << last;
  EXPECT_TRUE(asks(last.substr(6, 2))) << last;
  EXPECT_EQ(last.substr(8), ".\nAssistant: " + turned(last.substr(6, 2)));
  EXPECT_NE(notes.find("--- what it answers at step 300 ---\n" + last + "\n---"), std::string::npos)
      << notes;
  EXPECT_NE(
      notes.find(at("chats.jsonl") + ": 56 conversations of 1400 tokens, 280 of them learned"),
      std::string::npos)
      << notes;
}

}  // namespace
}  // namespace tessera
