// SPDX-License-Identifier: Apache-2.0
#include "models/lora.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/testing/user_error_of.h"
#include "ir/builder.h"
#include "ir/op_list.h"
#include "ir/parser.h"
#include "ir/printer.h"
#include "models/build_model.h"
#include "models/model_size.h"
#include "models/presets.h"
#include "ops/calls.h"

namespace tessera {
namespace {

ModelConfig small(LoraConfig lora) {
  ModelConfig model = resolved({.family = Family::Llama,
                                .layers = 2,
                                .width = 16,
                                .heads = 4,
                                .kv_heads = 2,
                                .mlp_size = 24,
                                .vocabulary = 31,
                                .context = 16,
                                .activation = Activation::Swiglu});
  model.lora = std::move(lora);
  return model;
}

Module built(const ModelConfig& model, HeadKind head = HeadKind::Loss) {
  return build_model(model, {.batch = 2, .seq = 4}, DType::Fp64, head);
}

std::vector<std::string> adapters_in(const Module& module, const char* class_name) {
  std::vector<std::string> names;
  const Graph& graph = module.classes[static_cast<size_t>(module.find_class(class_name))].graph;
  for (const GraphInput& input : graph.inputs())
    if (input.state && !input.state->frozen) names.push_back(graph.value(input.value).name);
  return names;
}

std::vector<std::string> targeted(std::vector<std::string> targets) {
  std::vector<std::string> names =
      adapters_in(built(small({.rank = 3, .targets = std::move(targets)})), "layer");
  std::erase_if(names, [](const std::string& name) { return name.ends_with("_b"); });
  for (std::string& name : names) name.resize(name.size() - std::string("_lora_a").size());
  return names;
}

using Names = std::vector<std::string>;

TEST(Lora, StandsBesideEveryMatmulOfALayerAndFreezesAllElse) {
  const Module module = built(small({.rank = 3}));
  EXPECT_EQ(adapters_in(module, "layer"),
            (Names{"wq_lora_a", "wq_lora_b", "wk_lora_a", "wk_lora_b", "wv_lora_a", "wv_lora_b",
                   "wo_lora_a", "wo_lora_b", "gate_lora_a", "gate_lora_b", "up_lora_a", "up_lora_b",
                   "down_lora_a", "down_lora_b"}));
  EXPECT_EQ(adapters_in(module, "embedding"), Names{});
  EXPECT_EQ(adapters_in(module, "head"), Names{});
}

TEST(Lora, IsOfTheWeightsThatAreNamed) {
  EXPECT_EQ(targeted({"wq", "wv"}), (Names{"wq", "wv"}));
  EXPECT_EQ(targeted({"q_proj", "v_proj"}), (Names{"wq", "wv"}));
  EXPECT_EQ(targeted({"w?"}), (Names{"wq", "wk", "wv", "wo"}));
  EXPECT_EQ(targeted({"up_proj", "down"}), (Names{"up", "down"}));
  EXPECT_EQ(targeted({"gate_up"}), (Names{"gate", "up"}));
  EXPECT_EQ(targeted({"all"}), targeted({}));
}

TEST(Lora, OfAnUnknownWeightSaysWhichThereAre) {
  EXPECT_EQ(user_error_of([] { built(small({.rank = 3, .targets = {"wz"}})); }),
            "lora.targets has wz, which no matmul of the model reads");
}

// Neither a table of words nor experts are weights of a matmul, and a router is left alone.
TEST(Lora, IsRefusedOnWhatIsNoMatmul) {
  for (const char* target : {"table", "router", "expert_gate_up", "expert_down"}) {
    ModelConfig model = find_preset("tiny-moe").config;
    model.lora = {.rank = 2, .targets = {target}};
    EXPECT_THROW(built(resolved(model)), UserError) << target;
  }
}

TEST(Lora, HasTheShapesOfItsWeight) {
  const Module module = built(small({.rank = 3}));
  const Graph& graph = module.classes[static_cast<size_t>(module.find_class("layer"))].graph;
  const auto dims = [&](const char* name) {
    return to_string(graph.value(graph.find_value(name)).type);
  };
  EXPECT_EQ(dims("wq_lora_a"), "fp64[d=16, lora_rank=3]");
  EXPECT_EQ(dims("wq_lora_b"), "fp64[lora_rank=3, kv_heads=2, group=2, e=4]");
  EXPECT_EQ(dims("wo_lora_a"), "fp64[kv_heads=2, group=2, e=4, lora_rank=3]");
  EXPECT_EQ(dims("up_lora_b"), "fp64[lora_rank=3, mlp=24]");
}

// A model of one's own may use a weight twice: both products have the one adapter.
TEST(Lora, OfAWeightThatTwoMatmulsReadIsOne) {
  ModuleBuilder model("twice", DType::Fp64);
  BlockBuilder& block = model.block_class("layer");
  const Dim batch{"batch", 2}, in{"d", 4}, out{"d_out", 4};
  const Tensor x = block.batch_float("x", {batch, in});
  const Tensor w = block.matrix("w", "rc", {in, out}, normal(0.1));
  const Tensor both = add(matmul(x, w), matmul(relu(x), w));
  block.returns_loss(squared_loss(both, block.batch_float("target", {batch, out})));
  model.block("layer", "layer");
  Module module = model.build();
  add_lora(module, {.rank = 2});
  EXPECT_EQ(adapters_in(module, "layer"), (Names{"w_lora_a", "w_lora_b"}));
  const std::vector<Node>& nodes = module.classes[0].graph.nodes();
  EXPECT_EQ(std::ranges::count(nodes, OpKind::matmul, &Node::op), 2 * 3);
}

// So that the first loss is that of the model without it.
TEST(Lora, BeginsWithASecondProductOfZero) {
  const Module module = built(small({.rank = 3}));
  const Graph& graph = module.classes[static_cast<size_t>(module.find_class("layer"))].graph;
  for (const GraphInput& input : graph.inputs()) {
    const std::string& name = graph.value(input.value).name;
    if (!input.state || !is_adapter(name)) continue;
    const bool second = name.ends_with("_b");
    EXPECT_EQ(input.state->init.kind, second ? Init::Kind::Zeros : Init::Kind::Normal) << name;
    EXPECT_EQ(input.state->matrix.front(), 'r') << name;
  }
  const Init first = graph.find_input(InputKind::State, "down_lora_a")->state->init;
  EXPECT_DOUBLE_EQ(first.deviation, 1 / std::sqrt(3.0 * 24));
}

TEST(Lora, PrintsAndParsesBack) {
  const Module module = built(small({.rank = 3, .in_base = true}));
  EXPECT_EQ(print(parse_module(print(module))), print(module));
  EXPECT_NE(print(module).find(" frozen in_base"), std::string::npos);
}

TEST(Lora, OfLogitsHasTheSameParameters) {
  const ModelConfig model = small({.rank = 3});
  EXPECT_EQ(adapters_in(built(model, HeadKind::Logits), "layer"),
            adapters_in(built(model), "layer"));
}

TEST(Lora, CountsTwoProductsOfAFrozenWeightAndThreeOfAnAdapter) {
  const ModelConfig plain = small({}), adapted = small({.rank = 3});
  const int64_t base = matmul_parameter_count(plain),
                adapters = matmul_parameter_count(adapted) - base;
  EXPECT_EQ(parameter_count(adapted), parameter_count(plain) + adapters);
  const double attention = flops_per_token(plain, 8).causal - 6.0 * static_cast<double>(base);
  EXPECT_DOUBLE_EQ(flops_per_token(adapted, 8).causal, attention + 4.0 * static_cast<double>(base) +
                                                           6.0 * static_cast<double>(adapters));
}

}  // namespace
}  // namespace tessera
