// SPDX-License-Identifier: Apache-2.0
// A model whose logits are known: each token has its own axis; after token t the most likely is t +
// 1, with a logit of 3, then t + 2 and t + 3, with 2 and 1.
#include "inference/text_generator.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <set>

#include "compiler/compile.h"
#include "config/run_spec.h"
#include "exec/device.h"
#include "models/build_model.h"

namespace tessera {
namespace {

constexpr int64_t kTokens = 8;

float logit(int64_t last, int64_t next) {
  const int64_t ahead = (next - last + kTokens) % kTokens;
  return ahead >= 1 && ahead <= 3 ? static_cast<float>(4 - ahead) : 0;
}

float weight_of(const std::string& state, int64_t element) {
  const int64_t row = element / kTokens, column = element % kTokens;
  if (state == "embedding.table") return row == column ? 1 : 0;
  // The norm before the head makes of an axis the root of their number.
  if (state == "head.table") return logit(column, row) / std::sqrt(static_cast<float>(kTokens));
  return state.ends_with("norm") ? 1 : 0;
}

using Texts = std::vector<std::vector<int32_t>>;

ModelConfig model_of(std::vector<std::string> settings) {
  settings.insert(settings.begin(), "model.preset=tiny");
  return resolve_model(load_config({}, settings));
}

Texts written(const ModelConfig& model, GeneratorOptions options, const Texts& prompts,
              double temperature = 1) {
  TextGenerator generator(model, DType::Fp64, std::move(options));
  initialise_states(generator.executor(), 1);
  Texts texts(prompts.size());
  generator.generate(prompts, {.tokens = 30, .choice = {.temperature = temperature}, .seed = 3},
                     [&](size_t text, int32_t token) {
                       texts[text].push_back(token);
                       return true;
                     });
  return texts;
}

// Every token by a forward of the whole text, with nothing kept.
std::vector<int32_t> written_by_whole_forwards(const ModelConfig& model, int64_t window,
                                               std::vector<int32_t> text, int64_t count) {
  const auto executor = require_device(DeviceKind::Cpu)
                            .make_executor(compile(build_model(model, {.batch = 1, .seq = window},
                                                               DType::Fp64, HeadKind::Logits),
                                                   {.training = false})
                                               .programs,
                                           {});
  initialise_states(*executor, 1);
  std::vector<int32_t> positions(static_cast<size_t>(window));
  std::iota(positions.begin(), positions.end(), 0);
  const std::vector<int32_t> document(positions.size(), 0);
  std::vector<int32_t> tokens;
  std::vector<double> logits(static_cast<size_t>(model.vocabulary));
  for (int64_t n = 0; n < count; ++n) {
    std::vector<int32_t> shown = text;
    shown.resize(positions.size());
    const std::vector<int32_t> last{static_cast<int32_t>(text.size()) - 1};
    const std::pair<const char*, const std::vector<int32_t>*> inputs[] = {
        {"tokens", &shown}, {"positions", &positions}, {"document", &document}, {"last", &last}};
    for (const auto& [name, values] : inputs)
      if (const HostBuffer* input = executor->program().find_batch_input(name))
        executor->write_batch(*input, 0, std::as_bytes(std::span(*values)));
    executor->run("evaluate");
    executor->read_output(std::as_writable_bytes(std::span(logits)));
    tokens.push_back(choose_token(logits, {.temperature = 0}, 0));
    text.push_back(tokens.back());
  }
  return tokens;
}

class TextGeneratorTest : public testing::Test {
 protected:
  TextGeneratorTest() {
    for (const StateBuffer& state : generator_.executor().program().states) {
      if (state.spec.role == StateRole::Cache) continue;
      std::vector<float> values;
      for (int64_t i = 0; i < state.type.num_elements(); ++i)
        values.push_back(weight_of(state.name, i));
      generator_.executor().write_state(state, std::as_bytes(std::span(values)));
    }
  }

  std::vector<int32_t> written(std::vector<int32_t> prompt, const GenerateOptions& options) {
    std::vector<int32_t> tokens;
    generator_.generate(std::move(prompt), options, [&](int32_t token) {
      tokens.push_back(token);
      return true;
    });
    return tokens;
  }

  // How often each token follows token 0, over as many seeds.
  std::vector<int> counts(int draws, double temperature, int64_t top_k) {
    std::vector<int> found(kTokens);
    for (int seed = 0; seed < draws; ++seed)
      ++found[static_cast<size_t>(
          written({0}, {.tokens = 1,
                        .choice = {.temperature = temperature, .top_k = top_k},
                        .seed = static_cast<uint64_t>(seed)})[0])];
    return found;
  }

  TextGenerator generator_{resolved({.family = Family::Llama,
                                     .layers = 1,
                                     .width = kTokens,
                                     .heads = 1,
                                     .kv_heads = 1,
                                     .head_size = 8,
                                     .mlp_size = 8,
                                     .vocabulary = kTokens,
                                     .context = 4,
                                     .activation = Activation::Swiglu,
                                     .tied = false}),
                           DType::Fp32,
                           {.window = 4}};
};

TEST_F(TextGeneratorTest, GoesOnFromTheEndOfATextLongerThanItsWindow) {
  EXPECT_EQ(written({0}, {.tokens = 9, .choice = {.temperature = 0}}),
            (std::vector<int32_t>{1, 2, 3, 4, 5, 6, 7, 0, 1}));
  EXPECT_EQ(written({7, 7, 7, 7, 7, 2}, {.tokens = 2, .choice = {.temperature = 0}}),
            (std::vector<int32_t>{3, 4}));
}

TEST_F(TextGeneratorTest, DrawsAmongTheKLikeliestAlone) {
  const std::vector<int> of_two = counts(100, 1, 2);
  EXPECT_GT(of_two[1], 0);
  EXPECT_GT(of_two[2], 0);
  EXPECT_EQ(of_two[1] + of_two[2], 100);
  EXPECT_EQ(counts(20, 1, 1)[1], 20);
}

// The draws are fixed by their seeds; four standard deviations are allowed.
TEST_F(TextGeneratorTest, DrawsAsOftenAsTheTemperatureSays) {
  constexpr int kDraws = 400;
  for (const double temperature : {0.7, 1.0, 2.0}) {
    const std::vector<int> found = counts(kDraws, temperature, 0);
    double all = 0;
    for (int64_t token = 0; token < kTokens; ++token)
      all += std::exp(logit(0, token) / temperature);
    for (int64_t token = 0; token < kTokens; ++token) {
      const double share = std::exp(logit(0, token) / temperature) / all;
      EXPECT_NEAR(found[static_cast<size_t>(token)], kDraws * share,
                  4 * std::sqrt(kDraws * share * (1 - share)) + 1)
          << "token " << token << " at " << temperature;
    }
  }
}

TEST(WindowOfText, IsNoLongerThanTheTextNeedsAndNeverLongerThanTheModelSees) {
  EXPECT_EQ(window_for(200, 1024), 256);
  EXPECT_EQ(window_for(256, 1024), 256);
  EXPECT_EQ(window_for(5000, 1024), 1024);
  EXPECT_EQ(window_for(3, 16), 16);
}

TEST(WindowOfText, ChangesNoTokenOfATextThatItHolds) {
  EXPECT_EQ(written(model_of({}), {.window = 43}, {{5, 9, 2}}),
            written(model_of({}), {.window = 128}, {{5, 9, 2}}));
}

// Of every family, and of what its layers may be made of.
TEST(CachedText, IsTheTextThatWholeForwardsWrite) {
  const std::vector<std::string> gpt{"model.preset=gpt2-124m", "model.layers=2",
                                     "model.width=32",         "model.heads=4",
                                     "model.vocabulary=64",    "model.context=64"};
  const std::vector<std::string> grouped{"model.heads=8", "model.kv_heads=2"};
  const std::vector<std::string> mixture{"model.preset=tiny-moe"};
  const std::vector<std::string> latent{
      "model.layers=2",   "model.heads=4",   "model.kv_heads=4",       "model.head_size=24",
      "model.kv_rank=16", "model.q_rank=24", "model.rope_head_size=8", "model.value_head_size=16"};
  for (const auto& settings : {gpt, grouped, mixture, latent}) {
    const ModelConfig model = model_of(settings);
    const std::vector<int32_t> prompt{5, 9, 2, 11, 3};
    EXPECT_EQ(written(model, {.window = 40}, {prompt}, 0).front(),
              written_by_whole_forwards(model, 40, prompt, 30))
        << settings.front();
  }
}

TEST(CachedText, IsTheSameBesideOthers) {
  const ModelConfig model = model_of({});
  const std::vector<int32_t> longer{1, 2, 3, 4, 5, 6, 7, 8, 9}, shorter{7, 7}, one{3};
  const Texts together = written(model, {.window = 64, .texts = 3}, {longer, shorter, one}, 0);
  EXPECT_EQ(together[0], written(model, {.window = 64}, {longer}, 0).front());
  EXPECT_EQ(together[1], written(model, {.window = 64}, {shorter}, 0).front());
  EXPECT_EQ(together[2], written(model, {.window = 64}, {one}, 0).front());
}

TEST(CachedText, IsTheSameOverRanksThatSplitHeads) {
  const ModelConfig model = model_of({});
  for (const int ranks : {2, 4}) {
    const Plan plan =
        make_plan({.mesh = {{"tp", ranks}}}, {.kv_heads = model.kv_heads, .heads = model.heads});
    EXPECT_EQ(written(model, {.window = 64, .plan = plan}, {{5, 9, 2}}, 0),
              written(model, {.window = 64}, {{5, 9, 2}}, 0))
        << ranks;
  }
}

// Long prompts and texts that outgrow the window, over and over.
TEST(CachedText, KeepsWeightsWhenItBeginsAgain) {
  const ModelConfig model = model_of({});
  const Texts once = written(model, {.window = 8}, {{5, 9, 2}}, 0);
  EXPECT_EQ(once.front().size(), 30U);
  const std::vector<int32_t> begin(once.front().begin(), once.front().begin() + 5);
  std::vector<int32_t> kept{begin.end() - 3, begin.end()};  // with token 9 the window is full
  kept.push_back(once.front()[5]);
  EXPECT_EQ(once.front()[6], written_by_whole_forwards(model, 8, kept, 1).front());
}

TEST_F(TextGeneratorTest, StopsWhenItIsTold) {
  int told = 0;
  generator_.generate({0}, {.tokens = 9, .choice = {.temperature = 0}},
                      [&](int32_t) { return ++told < 3; });
  EXPECT_EQ(told, 3);
}

}  // namespace
}  // namespace tessera
