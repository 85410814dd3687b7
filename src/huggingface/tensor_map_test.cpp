// SPDX-License-Identifier: Apache-2.0
#include "huggingface/tensor_map.h"

#include <gtest/gtest.h>

#include <numeric>

#include "checkpoint/owned_pieces.h"
#include "huggingface/copy_patch.h"
#include "models/build_model.h"
#include "models/presets.h"

namespace tessera {
namespace {

// Every dim has a different size, so that a mistake shows.
ModelConfig small(Family family, bool tied) {
  const bool gpt = family == Family::Gpt;
  return resolved({.family = family,
                   .layers = 2,
                   .width = 12,
                   .heads = gpt ? 3 : 6,
                   .kv_heads = gpt ? 3 : 2,
                   .head_size = gpt ? 4 : 10,
                   .mlp_size = 14,
                   .vocabulary = 19,
                   .context = 17,
                   .activation = gpt ? Activation::GeluTanh : Activation::Swiglu,
                   .tied = tied,
                   .qk_norm = family == Family::Qwen,
                   .bias = gpt});
}

ModelConfig with_experts(ModelConfig model, int64_t dense_layers) {
  model.experts = 5;
  model.top_k = 2;
  model.expert_mlp_size = 9;
  model.dense_layers = dense_layers;
  return resolved(model);
}

ModelConfig olmoe() {
  ModelConfig model = with_experts(small(Family::Llama, false), 0);
  model.qk_norm = model.qk_norm_over_heads = true;
  return model;
}

ModelConfig dots1() {
  ModelConfig model = with_experts(small(Family::Qwen, false), 1);
  model.router_score = RouterScore::Sigmoid;
  model.shared_mlp_size = 18;
  model.balance_rate = 0.001;
  return model;
}

ModelConfig latent(int64_t q_rank) {
  ModelConfig model = small(Family::Llama, false);
  model.kv_heads = 6;
  model.head_size = 11;
  model.kv_rank = 7;
  model.q_rank = q_rank;
  model.rope_head_size = 8;
  model.value_head_size = 5;
  return resolved(model);
}

ModelConfig deepseek_v3() {
  ModelConfig model = with_experts(latent(13), 1);
  model.router_score = RouterScore::Sigmoid;
  model.shared_mlp_size = 9;
  model.balance_rate = 0.001;
  return resolved(model);
}

const std::vector<ModelConfig>& models() {
  static const std::vector<ModelConfig> kModels{small(Family::Gpt, true),
                                                small(Family::Gpt, false),
                                                small(Family::Llama, true),
                                                small(Family::Llama, false),
                                                small(Family::Qwen, true),
                                                with_experts(small(Family::Llama, false), 0),
                                                with_experts(small(Family::Qwen, false), 1),
                                                olmoe(),
                                                dots1(),
                                                latent(0),
                                                deepseek_v3()};
  return kModels;
}

const std::vector<TensorMap>& maps() {
  static const std::vector<TensorMap> kMaps = [] {
    std::vector<TensorMap> maps;
    for (const ModelConfig& model : models())
      for (const ExpertLayout layout : {ExpertLayout::PerExpert, ExpertLayout::Merged})
        maps.push_back(tensor_map(model, layout));
    return maps;
  }();
  return kMaps;
}

std::map<std::string, std::vector<int64_t>> parameters_of(const ModelConfig& model) {
  const Module module = build_model(model, {.batch = 1, .seq = 4}, DType::Fp32, HeadKind::Loss);
  std::map<std::string, std::vector<int64_t>> shapes;
  for (const Block& block : module.blocks) {
    const Graph& graph = module.class_of(block).graph;
    for (const GraphInput& input : graph.inputs()) {
      const Value& value = graph.value(input.value);
      const bool tied = !block.ties.empty() && block.ties.front().first == value.name;
      if (input.kind == InputKind::State && !tied)
        shapes[block.name + "." + value.name] = shape_of(value.type);
    }
  }
  return shapes;
}

TEST(TensorMap, HasEveryParameterOfTheModelInItsShape) {
  for (const ModelConfig& model : models())
    EXPECT_EQ(tensor_map(model).ours, parameters_of(model)) << name(model.family);
}

TEST(TensorMap, HasTheNamesOfPublishedMixtures) {
  const auto has = [](const ModelConfig& model, ExpertLayout layout, const std::string& name) {
    return tensor_map(model, layout).theirs.contains("model.layers.1." + name);
  };
  constexpr auto kEach = ExpertLayout::PerExpert, kAll = ExpertLayout::Merged;
  const ModelConfig mixtral = models()[5], qwen = models()[6];
  EXPECT_TRUE(has(mixtral, kEach, "block_sparse_moe.gate.weight"));
  EXPECT_TRUE(has(mixtral, kEach, "block_sparse_moe.experts.4.w3.weight"));
  EXPECT_TRUE(has(mixtral, kAll, "mlp.experts.gate_up_proj"));
  EXPECT_TRUE(has(qwen, kEach, "mlp.gate.weight"));
  EXPECT_TRUE(has(qwen, kEach, "mlp.experts.4.down_proj.weight"));
  EXPECT_TRUE(has(qwen, kAll, "mlp.experts.down_proj"));
  EXPECT_TRUE(tensor_map(qwen).theirs.contains("model.layers.0.mlp.up_proj.weight"));
  EXPECT_TRUE(has(dots1(), kEach, "mlp.gate.weight"));
  EXPECT_TRUE(has(dots1(), kEach, "mlp.experts.4.gate_proj.weight"));
  EXPECT_TRUE(has(dots1(), kEach, "mlp.shared_experts.down_proj.weight"));
  const std::string bias = "model.layers.1.mlp.gate.e_score_correction_bias";
  EXPECT_TRUE(has(dots1(), kEach, "mlp.gate.e_score_correction_bias"));
  ModelConfig without_bias = dots1();
  without_bias.balance_rate = 0;
  EXPECT_TRUE(tensor_map(without_bias).zeros.contains(bias));
  EXPECT_FALSE(tensor_map(without_bias).theirs.contains(bias));
}

TEST(TensorMap, HasTheNamesOfDeepSeekV3) {
  const std::string layer = "model.layers.1.self_attn.";
  const auto theirs = tensor_map(deepseek_v3()).theirs;
  using Shape = std::vector<int64_t>;
  EXPECT_EQ(theirs.at(layer + "q_a_proj.weight"), (Shape{13, 12}));
  EXPECT_EQ(theirs.at(layer + "q_a_layernorm.weight"), (Shape{13}));
  EXPECT_EQ(theirs.at(layer + "q_b_proj.weight"), (Shape{6 * 11, 13}));
  EXPECT_EQ(theirs.at(layer + "kv_a_proj_with_mqa.weight"), (Shape{7 + 8, 12}));
  EXPECT_EQ(theirs.at(layer + "kv_a_layernorm.weight"), (Shape{7}));
  EXPECT_EQ(theirs.at(layer + "kv_b_proj.weight"), (Shape{6 * (3 + 5), 7}));
  EXPECT_EQ(theirs.at(layer + "o_proj.weight"), (Shape{12, 6 * 5}));
  EXPECT_TRUE(theirs.contains("model.layers.1.mlp.experts.4.up_proj.weight"));
  EXPECT_TRUE(theirs.contains("model.layers.1.mlp.gate.e_score_correction_bias"));
  EXPECT_EQ(tensor_map(latent(0)).theirs.at(layer + "q_proj.weight"), (Shape{6 * 11, 12}));
}

// Rope turns elements 2 i and 2 i + 1 of theirs, i and i + 4 of ours.
TEST(TensorMap, MovesPairsOfNeighboursHalfAHeadApart) {
  const TensorMap map = tensor_map(latent(13));
  const int64_t head = 2, input = 5, inputs = 13;
  std::map<int64_t, int64_t> ours_by_theirs;
  for (const Patch& patch : map.patches)
    if (patch.ours == "layer.0.wq_rope")
      for (int64_t c = 0; c < patch.columns; ++c)
        ours_by_theirs[patch.their_begin + input * patch.their_row + c * patch.their_column] =
            patch.our_begin + input * patch.our_row + c;
  for (int64_t i = 0; i < 8; ++i)
    EXPECT_EQ(ours_by_theirs.at((head * 11 + 3 + i) * inputs + input),
              input * 6 * 8 + head * 8 + i % 2 * 4 + i / 2)
        << i;
}

TEST(TensorMap, TakesEveryElementOfEitherSideOnce) {
  for (const TensorMap& map : maps()) {
    std::map<std::string, std::vector<int>> ours, theirs;
    for (const auto& [name, shape] : map.ours)
      ours[name].resize(static_cast<size_t>(elements_of(shape)));
    for (const auto& [name, shape] : map.theirs)
      theirs[name].resize(static_cast<size_t>(elements_of(shape)));
    for (const Patch& patch : map.patches)
      for (int64_t r = 0; r < patch.rows; ++r)
        for (int64_t c = 0; c < patch.columns; ++c) {
          ++ours[patch.ours].at(static_cast<size_t>(patch.our_begin + r * patch.our_row + c));
          ++theirs[patch.theirs].at(static_cast<size_t>(patch.their_begin + r * patch.their_row +
                                                        c * patch.their_column));
        }
    for (const auto& side : {ours, theirs})
      for (const auto& [name, counts] : side)
        EXPECT_EQ(counts, std::vector<int>(counts.size(), 1)) << name;
  }
}

TEST(TensorMap, CopiesThereAndBack) {
  // Longer than a tile in both directions, and not a multiple of one.
  const Patch patch{.ours = "",
                    .theirs = "",
                    .rows = 70,
                    .columns = 45,
                    .our_begin = 3,
                    .our_row = 50,
                    .their_begin = 1,
                    .their_row = 1,
                    .their_column = 71};
  std::vector<float> ours(4000, -1.0F), theirs(4000), back(4000, -1.0F);
  std::iota(theirs.begin(), theirs.end(), 0.0F);
  copy_to_ours(patch, 4, std::as_bytes(std::span(theirs)), std::as_writable_bytes(std::span(ours)));
  EXPECT_EQ(ours[3 + 50 * 69 + 44], static_cast<float>(1 + 69 + 71 * 44));
  copy_to_theirs(patch, 4, std::as_bytes(std::span(ours)), std::as_writable_bytes(std::span(back)));
  for (int64_t r = 0; r < 70; ++r)
    for (int64_t c = 0; c < 45; ++c) {
      const auto at = static_cast<size_t>(1 + r + 71 * c);
      EXPECT_EQ(back[at], theirs[at]);
    }
}

}  // namespace
}  // namespace tessera
