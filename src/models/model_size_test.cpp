// SPDX-License-Identifier: Apache-2.0
// PaLM's count (Chowdhery et al., appendix B): 6 for every weight that multiplies, and 12 layers x
// heads x head size x sequence length for full attention, of which a causal one needs half.
#include "models/model_size.h"

#include <gtest/gtest.h>

#include "models/presets.h"

namespace tessera {
namespace {

TEST(FlopsPerToken, AreThoseOfPaLM) {
  const double d = 768, layers = 12, vocabulary = 50257;
  const double weights = layers * 12 * d * d + vocabulary * d;
  const FlopsPerToken gpt2 = flops_per_token(find_preset("gpt2-124m").config, 1024);
  EXPECT_DOUBLE_EQ(gpt2.full, 6 * weights + 12 * layers * d * 1024);
  EXPECT_DOUBLE_EQ(gpt2.causal, 6 * weights + 6 * layers * d * 1024);
}

// Four times as many query heads as key heads; an untied output head.
TEST(FlopsPerToken, CountKeysByTheirHeadsAndAttentionByItsQueries) {
  const double d = 4096, mlp = 14336, layers = 32, vocabulary = 128256;
  const double weights = layers * (2 * d * d + 2 * d * d / 4 + 3 * d * mlp) + vocabulary * d;
  const FlopsPerToken llama = flops_per_token(find_preset("llama3-8b").config, 8192);
  EXPECT_DOUBLE_EQ(llama.causal, 6 * weights + 6 * layers * d * 8192);
}

// Scores of 192 elements, sums of 128.
TEST(FlopsPerToken, CountScoresAndValuesOfTheirOwnSizes) {
  const ModelConfig config = find_preset("deepseek-v3").config;
  const double weights = 6.0 * static_cast<double>(matmul_parameter_count(config));
  EXPECT_DOUBLE_EQ(flops_per_token(config, 4096).causal,
                   weights + 3.0 * 61 * 128 * (192 + 128) * 4096);
}

}  // namespace
}  // namespace tessera
