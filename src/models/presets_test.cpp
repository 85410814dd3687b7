// SPDX-License-Identifier: Apache-2.0
#include "models/presets.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "core/choices.h"
#include "core/error.h"
#include "models/model_size.h"

namespace tessera {
namespace {

// Totals of the published checkpoints, tied tables counted once.
const std::map<std::string, int64_t, std::less<>> kPublished{
    {"mlp", 4'194'304},
    {"tiny", 853'120},
    {"tiny-moe", 1'840'512},
    {"gpt2-124m", 124'439'808},
    {"gpt2-350m", 354'823'168},
    {"gpt2-774m", 774'030'080},
    {"gpt2-1.5b", 1'557'611'200},
    {"llama3-1b", 1'235'814'400},
    {"llama3-3b", 3'212'749'824},
    {"llama3-8b", 8'030'261'248},
    {"llama3-70b", 70'553'706'496},
    {"llama3-405b", 405'853'388'800},
    {"qwen3-0.6b", 596'049'920},
    {"qwen3-1.7b", 1'720'574'976},
    {"qwen3-8b", 8'190'735'360},
    {"olmoe-1b-7b", 6'919'161'856},
    {"qwen3-30b-a3b", 30'532'122'624},
    {"qwen3-235b-a22b", 235'093'634'560},
    {"mixtral-8x7b", 46'702'792'704},
    {"mixtral-8x22b", 140'620'634'112},
    {"dots-llm1", 142'774'381'696},
    {"deepseek-v3", 671'026'419'200},
    // Attention has 63'488 weights a layer more than the latent one.
    {"deepseek-v3-gqa", 671'026'419'200 + 61 * 63'488},
};

TEST(Presets, HaveThePublishedNumberOfParameters) {
  for (const Preset& preset : presets()) {
    const auto published = kPublished.find(preset.name);
    ASSERT_NE(published, kPublished.end()) << preset.name;
    EXPECT_EQ(parameter_count(preset.config), published->second) << preset.name;
  }
  EXPECT_EQ(presets().size(), kPublished.size());
}

TEST(Presets, MultiplyByTheHeadButNotByTheEmbedding) {
  // 12 layers of 12 d^2 and the table, without biases, norms and positions.
  EXPECT_EQ(matmul_parameter_count(find_preset("gpt2-124m").config),
            12LL * 12 * 768 * 768 + 50257LL * 768);
  // Untied: of the two tables only the head's is used in a matmul.
  EXPECT_EQ(matmul_parameter_count(find_preset("llama3-8b").config),
            8'030'261'248LL - 128256LL * 4096 - 65LL * 4096);
}

TEST(Presets, MultiplyByTheChosenExpertsAlone) {
  // 16 layers: attention, router, and 8 of 64 experts; then the head.
  const int64_t layer = 4LL * 2048 * 2048 + 64LL * 2048 + 8LL * 3 * 2048 * 1024;
  EXPECT_EQ(matmul_parameter_count(find_preset("olmoe-1b-7b").config), 16 * layer + 50304LL * 2048);
}

TEST(Presets, MultiplyByTheSharedExpertAndTheMlpOfDenseLayers) {
  const int64_t attention = 2LL * 7168 * 96 * (128 + 8), dense = 3LL * 7168 * 18432;
  const int64_t mixture = 256LL * 7168 + (8 + 1) * 3LL * 7168 * 2048;
  EXPECT_EQ(matmul_parameter_count(find_preset("deepseek-v3-gqa").config),
            61 * attention + 3 * dense + 58 * mixture + 129280LL * 7168);
  const int64_t queries = 1536LL * (7168 + 128 * 192), out = 128LL * 128 * 7168;
  const int64_t keys_and_values = 7168LL * (512 + 64) + 512LL * 128 * (128 + 128);
  EXPECT_EQ(matmul_parameter_count(find_preset("deepseek-v3").config),
            61 * (queries + keys_and_values + out) + 3 * dense + 58 * mixture + 129280LL * 7168);
}

TEST(Presets, CountAttentionOncePerVisibleKey) {
  const FlopsPerToken flops = flops_per_token(find_preset("gpt2-124m").config, 1024);
  const double weights = 6.0 * (12.0 * 12 * 768 * 768 + 50257.0 * 768);
  EXPECT_DOUBLE_EQ(flops.causal, weights + 6.0 * 12 * 768 * 1024);
  EXPECT_DOUBLE_EQ(flops.full, weights + 12.0 * 12 * 768 * 1024);
}

TEST(Presets, AreKnownByTheirFields) {
  for (const Preset& preset : presets()) EXPECT_EQ(preset_of(resolved(preset.config)), preset.name);
  ModelConfig other = resolved(find_preset("llama3-1b").config);
  other.context *= 2;
  EXPECT_EQ(preset_of(other), kCustom);
}

TEST(Presets, AreListedWhenTheNameIsUnknown) {
  std::vector<std::string> names;
  for (const Preset& preset : presets()) names.emplace_back(preset.name);
  try {
    find_preset("bert-large");
    FAIL();
  } catch (const UserError& error) {
    EXPECT_EQ(error.message(), "there is no model bert-large");
    EXPECT_EQ(error.advice(), "use " + join_choices(names));
  }
}

TEST(Presets, AreOfferedWhenTheNameIsNear) {
  try {
    find_preset("gpt2-124");
    FAIL();
  } catch (const UserError& error) {
    EXPECT_EQ(error.message(), "there is no model gpt2-124: did you mean gpt2-124m?");
  }
}

}  // namespace
}  // namespace tessera
