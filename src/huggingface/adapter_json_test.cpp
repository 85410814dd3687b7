// SPDX-License-Identifier: Apache-2.0
#include "huggingface/adapter_json.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/testing/user_error_of.h"

namespace tessera {
namespace {

std::string refusal(const std::string& members) {
  return user_error_of([&] { parse_adapter_json("{" + members + "}", "a.json"); });
}

TEST(AdapterJson, ReadsBackWhatItWrote) {
  for (const double alpha : {16.0, 22.627416997969522}) {
    const LoraSettings lora{.rank = 4, .alpha = alpha, .targets = {}, .base = "models/base"};
    const LoraSettings read = parse_adapter_json(adapter_json(lora, {"q_proj"}), "a.json");
    EXPECT_EQ(read.rank, 4);
    EXPECT_EQ(read.alpha, alpha);
    EXPECT_EQ(read.base, "models/base");
  }
}

TEST(AdapterJson, RankStabilisedScalingIsALargerAlpha) {
  EXPECT_EQ(parse_adapter_json(R"({"r": 16, "lora_alpha": 3, "use_rslora": true})", "a.json").alpha,
            12.0);
}

// A layer's number alone, which PEFT allows, is no list.
TEST(AdapterJson, WhatChangesTheMathsIsRefusedInEveryForm) {
  EXPECT_EQ(refusal(R"("r": 4, "layers_to_transform": 1)"), "a.json: layers_to_transform is 1");
  EXPECT_EQ(refusal(R"("r": 4, "layers_to_transform": [1])"), "a.json: layers_to_transform is [1]");
  EXPECT_EQ(refusal(R"("r": 4, "modules_to_save": "lm_head")"),
            R"(a.json: modules_to_save is "lm_head")");
  EXPECT_EQ(refusal(R"("r": 4, "trainable_token_indices": {"embed_tokens": [3]})"),
            R"(a.json: trainable_token_indices is {"embed_tokens":[3]})");
  EXPECT_NO_THROW(parse_adapter_json(
      R"({"r": 4, "layers_to_transform": [], "trainable_token_indices": {}})", "a.json"));
}

TEST(AdapterJson, NumbersThatNoAdaptersHaveAreRefused) {
  EXPECT_EQ(refusal(R"("r": 0)"), "a.json: r is 0, which is not 1 to 65536");
  EXPECT_EQ(refusal(R"("r": 65537)"), "a.json: r is 65537, which is not 1 to 65536");
  EXPECT_EQ(refusal(R"("r": 4, "lora_alpha": -1)"), "a.json: lora_alpha is -1, which is too small");
  EXPECT_EQ(refusal(R"("r": 65536, "lora_alpha": 1e9, "use_rslora": true)"),
            "a.json: lora_alpha is 1000000000, which is too large");
}

}  // namespace
}  // namespace tessera
