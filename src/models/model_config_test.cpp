// SPDX-License-Identifier: Apache-2.0
#include "models/model_config.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "models/model_field.h"
#include "models/presets.h"

namespace tessera {
namespace {

ModelConfig with(std::string_view preset,
                 std::initializer_list<std::pair<std::string_view, std::string_view>> changes) {
  ModelConfig config = find_preset(preset).config;
  for (const auto& [key, text] : changes) set_model_field(config, key, text);
  return config;
}

// "message | place | help" of the error that f throws.
template <typename F>
std::string complaint(F f) {
  try {
    f();
  } catch (const UserError& error) {
    return error.message() + " | " + error.place() + " | " + error.advice();
  }
  return "no error";
}

TEST(ModelConfig, DerivesSizesLeftAtZero) {
  const ModelConfig gpt = resolved(find_preset("gpt2-124m").config);
  EXPECT_EQ(gpt.kv_heads, 12);
  EXPECT_EQ(gpt.head_size, 64);
  EXPECT_EQ(gpt.mlp_size, 3072);
  EXPECT_EQ(resolved(with("mlp", {{"width", "96"}})).mlp_size, 96);
  EXPECT_EQ(resolved(with("tiny", {{"width", "96"}, {"mlp_size", "0"}})).mlp_size, 256);
}

TEST(ModelConfig, NamesKvHeadsThatDivideHeads) {
  EXPECT_EQ(complaint([] {
              resolved(with("gpt2-124m", {{"kv_heads", "5"}}));
            }),
            "heads (12) is not a multiple of kv_heads (5) | model.kv_heads | "
            "use kv_heads = 1, 2, 3, 4, 6 or 12");
}

TEST(ModelConfig, NamesHeadsThatDivideTheWidth) {
  EXPECT_EQ(complaint([] {
              resolved(with("gpt2-124m", {{"width", "10"}, {"heads", "3"}}));
            }),
            "width (10) is not a multiple of heads (3) | model.heads | "
            "use heads = 1, 2, 5 or 10, or give head_size");
}

TEST(ModelConfig, RefusesAnOddHeadUnderRope) {
  EXPECT_EQ(complaint([] {
              resolved(with("tiny", {{"head_size", "15"}}));
            }),
            "head_size (15) is odd, and rope turns pairs | model.head_size | "
            "use head_size = 14 or 16");
}

TEST(ModelConfig, RefusesWhatTheFamilyDoesNotHave) {
  EXPECT_EQ(complaint([] {
              resolved(with("tiny", {{"activation", "relu"}}));
            }),
            "family llama cannot have activation = relu | model.activation | "
            "use activation = swiglu");
  EXPECT_EQ(complaint([] {
              resolved(with("gpt2-124m", {{"activation", "swiglu"}}));
            }),
            "family gpt cannot have activation = swiglu | model.activation | "
            "use activation = relu, gelu or gelu_tanh");
  EXPECT_EQ(complaint([] {
              resolved(with("tiny", {{"bias", "true"}}));
            }),
            "family llama has no bias | model.bias | remove it, or use family = mlp or gpt");
  EXPECT_EQ(complaint([] {
              resolved(with("mlp", {{"tied", "true"}}));
            }),
            "family mlp has no tied | model.tied | remove it, or use family = gpt, llama or qwen");
}

TEST(ModelConfig, RefusesRopeFactorsInTheWrongOrder) {
  EXPECT_EQ(complaint([] {
              resolved(with("llama3-8b", {{"rope_low_freq_factor", "4"}}));
            }),
            "rope_low_freq_factor (4) is not below rope_high_freq_factor (4) | "
            "model.rope_low_freq_factor | llama 3 uses 1 and 4, yarn 1 and 32");
}

TEST(ModelConfig, DerivesThePartsOfALatentHead) {
  const ModelConfig config =
      resolved(with("tiny", {{"kv_heads", "0"}, {"kv_rank", "24"}, {"head_size", "48"}}));
  EXPECT_EQ(config.kv_heads, 4);
  EXPECT_EQ(config.rope_head_size, 24);
  EXPECT_EQ(config.value_head_size, 24);
  EXPECT_EQ(resolved(config), config);
}

TEST(ModelConfig, RefusesLatentAttentionWhosePartsDoNotFit) {
  EXPECT_EQ(complaint([] {
              resolved(with("tiny", {{"kv_rank", "24"}}));
            }),
            "kv_heads (2) is not heads (4), but latent attention has keys for each head | "
            "model.kv_heads | leave kv_heads out, or set kv_rank = 0");
  EXPECT_EQ(complaint([] {
              resolved(with("deepseek-v3", {{"rope_head_size", "192"}}));
            }),
            "rope_head_size (192) leaves nothing of head_size (192) that is not rotated | "
            "model.rope_head_size | head_size is the sum of both parts: use head_size = 576, say");
  EXPECT_EQ(complaint([] {
              resolved(with("deepseek-v3", {{"rope_head_size", "63"}}));
            }),
            "rope_head_size (63) is odd, and rope turns pairs | model.rope_head_size | "
            "use rope_head_size = 64");
  EXPECT_EQ(complaint([] {
              resolved(with("deepseek-v3", {{"qk_norm", "true"}}));
            }),
            "qk_norm is not of latent attention, which normalises what heads come from | "
            "model.qk_norm | leave qk_norm out, or set kv_rank = 0");
  EXPECT_EQ(complaint([] {
              resolved(with("tiny", {{"value_head_size", "16"}}));
            }),
            "value_head_size (16) is of latent attention, but kv_rank is 0 | "
            "model.value_head_size | set model.kv_rank, or leave value_head_size out");
  EXPECT_EQ(complaint([] {
              resolved(with("gpt2-124m", {{"kv_rank", "64"}}));
            }),
            "family gpt has no kv_rank | model.kv_rank | remove it, or use family = llama");
}

TEST(ModelConfig, RefusesSequencesBeyondTheContext) {
  const ModelConfig config = resolved(find_preset("gpt2-124m").config);
  EXPECT_NO_THROW(check_batch_shape(config, {.batch = 1, .seq = 1024}));
  EXPECT_EQ(complaint([&] { check_batch_shape(config, {.batch = 1, .seq = 1025}); }),
            "seq (1025) is longer than the model's context (1024) |  | "
            "use seq = 1024 or less, or set model.context = 1025");
  EXPECT_EQ(complaint([&] { check_batch_shape(config, {.batch = 0, .seq = 8}); }),
            "batch (0) is below 1 |  | use batch = 1 or more");
}

TEST(ModelField, ReadsBackWhatItPrints) {
  for (const Preset& preset : presets()) {
    ModelConfig copy;
    for (const ModelField& field : model_fields())
      set_model_field(copy, field.key, model_field_text(preset.config, field));
    EXPECT_EQ(copy, preset.config) << preset.name;
  }
}

TEST(ModelField, NamesTheNearestFieldAndAllOthers) {
  const std::string text = complaint([] { with("tiny", {{"widht", "3"}}); });
  EXPECT_EQ(text.substr(0, text.find(", layers")),
            "unknown key model.widht: did you mean model.width? |  | "
            "the fields of a model are preset, family");
}

TEST(ModelConfig, RequiresHeadsOfAllButAnMlp) {
  EXPECT_EQ(complaint([] {
              resolved(with("tiny", {{"heads", "0"}}));
            }),
            "heads = 0 does not fit | model.heads | use a whole number from 1 to 4096");
  EXPECT_EQ(complaint([] { resolved(with("mlp", {{"heads", "0"}})); }), "no error");
}

TEST(ModelField, RefusesTextThatDoesNotFit) {
  EXPECT_EQ(complaint([] {
              with("tiny", {{"layers", "0"}});
            }),
            "layers = 0 does not fit | model.layers | use a whole number from 1 to 10000");
  EXPECT_EQ(complaint([] {
              with("tiny", {{"layers", "4x"}});
            }),
            "layers = 4x does not fit | model.layers | use a whole number from 1 to 10000");
  EXPECT_EQ(complaint([] {
              with("tiny", {{"norm_epsilon", "nan"}});
            }),
            "norm_epsilon = nan does not fit | model.norm_epsilon | use a number from 0 to 1");
  EXPECT_EQ(complaint([] {
              with("tiny", {{"tied", "yes"}});
            }),
            "tied = yes does not fit | model.tied | use true or false");
  EXPECT_EQ(complaint([] {
              with("tiny", {{"family", "bert"}});
            }),
            "family = bert does not fit | model.family | use " + all_families());
}

}  // namespace
}  // namespace tessera
