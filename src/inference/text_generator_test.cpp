// SPDX-License-Identifier: Apache-2.0
// A model whose logits are known: each token has its own axis; after token t the most likely is t +
// 1, with a logit of 3, then t + 2 and t + 3, with 2 and 1.
#include "inference/text_generator.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "config/run_spec.h"

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

class TextGeneratorTest : public testing::Test {
 protected:
  TextGeneratorTest() {
    for (const StateBuffer& state : generator_.executor().program().states) {
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
      ++found[static_cast<size_t>(written({0}, {.tokens = 1,
                                                .temperature = temperature,
                                                .top_k = top_k,
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
                           DType::Fp32, 4, 1};
};

TEST_F(TextGeneratorTest, GoesOnFromTheEndOfATextLongerThanItsWindow) {
  EXPECT_EQ(written({0}, {.tokens = 9, .temperature = 0}),
            (std::vector<int32_t>{1, 2, 3, 4, 5, 6, 7, 0, 1}));
  EXPECT_EQ(written({7, 7, 7, 7, 7, 2}, {.tokens = 2, .temperature = 0}),
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
  const std::vector<std::string> settings{"model.preset=tiny"};
  const ModelConfig model = resolve_model(load_config({}, settings));
  const auto written = [&](int64_t window) {
    TextGenerator generator(model, DType::Fp64, window, 1);
    initialise_states(generator.executor(), 1);
    std::vector<int32_t> tokens;
    generator.generate({5, 9, 2}, {.tokens = 40, .temperature = 1, .seed = 3}, [&](int32_t token) {
      tokens.push_back(token);
      return true;
    });
    return tokens;
  };
  EXPECT_EQ(written(43), written(128));
}

TEST_F(TextGeneratorTest, StopsWhenItIsTold) {
  int told = 0;
  generator_.generate({0}, {.tokens = 9, .temperature = 0}, [&](int32_t) { return ++told < 3; });
  EXPECT_EQ(told, 3);
}

}  // namespace
}  // namespace tessera
