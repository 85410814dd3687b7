// SPDX-License-Identifier: Apache-2.0
// How the models are cut into blocks, and what their values are called.
#include <gtest/gtest.h>

#include <cmath>

#include "core/error.h"
#include "models/build_model.h"
#include "models/presets.h"

namespace tessera {
namespace {

Module build(std::string_view preset, HeadKind head = HeadKind::Loss) {
  return build_model(find_preset(preset).config, {.batch = 2, .seq = 8}, DType::Fp32, head);
}

std::string type_of(const Module& module, std::string_view class_name, std::string_view value) {
  const Graph& graph = module.classes[static_cast<size_t>(module.find_class(class_name))].graph;
  const ValueId id = graph.find_value(value);
  return id == kNone ? "absent" : to_string(graph.value(id).type);
}

const StateSpec& state_of(const Module& module, std::string_view class_name,
                          std::string_view value) {
  const Graph& graph = module.classes[static_cast<size_t>(module.find_class(class_name))].graph;
  return *graph.find_input(InputKind::State, value)->state;
}

std::string returned(const Module& module) {
  const Graph& graph = module.class_of(module.blocks.back()).graph;
  const GraphOutput* output = graph.find_output(OutputKind::Stream);
  return output ? to_string(graph.value(output->value).type) : "nothing";
}

TEST(ModelStructure, LayersShareOneClass) {
  const Module module = build("gpt2-124m");
  ASSERT_EQ(module.blocks.size(), 14u);
  EXPECT_EQ(module.blocks.front().name, "embedding");
  EXPECT_EQ(module.blocks[12].name, "layer.11");
  EXPECT_EQ(module.class_of(module.blocks[12]).name, "layer");
  EXPECT_EQ(module.blocks.back().name, "head");
  EXPECT_EQ(module.classes.size(), 3u);
}

TEST(ModelStructure, HeadsAreDimsOfTheirOwn) {
  const Module module = build("llama3-8b");
  EXPECT_EQ(type_of(module, "layer", "wq"), "fp32[d=4096, kv_heads=8, group=4, e=128]");
  EXPECT_EQ(type_of(module, "layer", "wk"), "fp32[d=4096, kv_heads=8, e=128]");
  EXPECT_EQ(type_of(module, "layer", "wo"), "fp32[kv_heads=8, group=4, e=128, d=4096]");
  EXPECT_EQ(type_of(module, "layer", "gate_up"), "fp32[d=4096, gate_up=2, mlp=14336]");
}

TEST(ModelStructure, OnlyQwenNormalisesHeads) {
  EXPECT_EQ(type_of(build("qwen3-0.6b"), "layer", "q_norm"), "fp32[e=128]");
  EXPECT_EQ(type_of(build("llama3-1b"), "layer", "q_norm"), "absent");
}

TEST(ModelStructure, LatentAttentionHasAWeightForEachPartOfAHead) {
  const Module module = build("deepseek-v3");
  EXPECT_EQ(type_of(module, "layer", "wq_down"), "fp32[d=7168, q_rank=1536]");
  EXPECT_EQ(type_of(module, "layer", "wq"), "fp32[q_rank=1536, kv_heads=128, group=1, nope_e=128]");
  EXPECT_EQ(type_of(module, "dense_layer", "wq_rope"),
            "fp32[q_rank=1536, kv_heads=128, group=1, rope_e=64]");
  EXPECT_EQ(type_of(module, "layer", "wk_rope"), "fp32[d=7168, rope_e=64]");
  EXPECT_EQ(type_of(module, "layer", "wk"), "fp32[kv_rank=512, kv_heads=128, nope_e=128]");
  EXPECT_EQ(type_of(module, "layer", "wv"), "fp32[kv_rank=512, kv_heads=128, value_e=128]");
  EXPECT_EQ(type_of(module, "layer", "wo"), "fp32[kv_heads=128, group=1, value_e=128, d=7168]");
  EXPECT_FALSE(state_of(module, "layer", "kv_norm").decay);
}

TEST(ModelStructure, ATiedHeadReadsTheEmbeddingsTable) {
  const Module tied = build("llama3-1b");
  EXPECT_EQ(tied.state_name(tied.blocks.back(), "table"), "embedding.table");
  EXPECT_TRUE(state_of(tied, "head", "table").tied);
  const Module untied = build("llama3-8b");
  EXPECT_EQ(untied.state_name(untied.blocks.back(), "table"), "head.table");
}

TEST(ModelStructure, BiasesAndNormsDoNotDecay) {
  const Module module = build("gpt2-124m");
  for (const char* spared : {"bq", "bk", "bv", "bo", "up_bias", "attention_norm", "mlp_norm_bias"})
    EXPECT_FALSE(state_of(module, "layer", spared).decay) << spared;
  for (const char* decaying : {"wq", "wk", "wv", "wo", "up", "down"})
    EXPECT_TRUE(state_of(module, "layer", decaying).decay) << decaying;
}

TEST(ModelStructure, ResidualWritersStartSmaller) {
  const Module module = build("gpt2-124m");
  EXPECT_DOUBLE_EQ(state_of(module, "layer", "wq").init.deviation, 0.02);
  EXPECT_DOUBLE_EQ(state_of(module, "layer", "wo").init.deviation, 0.02 / std::sqrt(24.0));
  EXPECT_DOUBLE_EQ(state_of(module, "layer", "down").init.deviation, 0.02 / std::sqrt(24.0));
}

TEST(ModelStructure, MlpWeightsAlternateColumnThenRow) {
  ModelConfig config = find_preset("mlp").config;
  config.layers = 7;
  const Module module = build_model(config, {.batch = 2}, DType::Fp32, HeadKind::Loss);
  EXPECT_EQ(module.blocks.size(), 8u);
  EXPECT_EQ(module.classes.size(), 5u);
  EXPECT_EQ(type_of(module, "first_layer_in", "w"), "fp32[d=1024, mlp=1024]");
  EXPECT_EQ(type_of(module, "layer_out", "w"), "fp32[mlp=1024, d=1024]");
  EXPECT_EQ(type_of(module, "layer_in", "w"), "fp32[d=1024, mlp=1024]");
  EXPECT_EQ(type_of(module, "last_layer_in", "w"), "fp32[d=1024, mlp=1024]");
  EXPECT_EQ(type_of(module, "head", "target"), "fp32[batch=2, mlp=1024]");
  EXPECT_EQ(module.class_of(module.blocks[5]).name, "layer_out");
}

TEST(ModelStructure, ALogitsHeadReturnsOneRowOfScoresEach) {
  EXPECT_EQ(returned(build("tiny")), "nothing");
  EXPECT_EQ(returned(build("tiny", HeadKind::Logits)), "fp32[batch=2, vocab=256]");
  EXPECT_EQ(returned(build("gpt2-124m", HeadKind::Logits)), "fp32[batch=2, vocab=50257]");
  EXPECT_EQ(returned(build("mlp", HeadKind::Logits)), "fp32[batch=2, d=1024]");
}

TEST(ModelStructure, RefusesASequenceBeyondTheContext) {
  EXPECT_THROW(build_model(find_preset("gpt2-124m").config, {.batch = 1, .seq = 2048}, DType::Fp32,
                           HeadKind::Loss),
               UserError);
}

}  // namespace
}  // namespace tessera
