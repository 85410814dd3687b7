// SPDX-License-Identifier: Apache-2.0
// Every node of a step leads to the line of the model that it comes from, and to the pass that made
// it.
#include "compiler/stamp_origins.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "compiler/training_pipeline.h"
#include "ir/op_list.h"
#include "models/build_model.h"
#include "models/presets.h"

namespace tessera {
namespace {

Module model_of(std::string_view preset) {
  const ModelConfig& config = find_preset(preset).config;
  return build_model(config, {.batch = 8, .seq = std::min<int64_t>(64, config.context)},
                     DType::Bf16, HeadKind::Loss);
}

// By the name of its first result.
std::map<std::string, Origin> origins_of(const BlockClass& block_class) {
  std::map<std::string, Origin> origins;
  for (const Node& node : block_class.graph.nodes()) {
    const Value& value = block_class.graph.value(node.results.front());
    origins[value.name] = value.origin;
  }
  return origins;
}

void expect_lines_of_models(const Module& module, std::string_view when) {
  for (const BlockClass& block_class : module.classes)
    for (const auto& [name, origin] : origins_of(block_class)) {
      EXPECT_TRUE(to_string(origin.line).starts_with("src/models/"))
          << block_class.name << ".%" << name << " after " << when << ": "
          << to_string(origin.line);
      EXPECT_GT(origin.line.line, 0);
    }
}

std::set<std::string> lines_of(const BlockClass& block_class, OpKind op) {
  std::set<std::string> lines;
  for (const Node& node : block_class.graph.nodes())
    if (node.op == op)
      lines.insert(to_string(block_class.graph.value(node.results.front()).origin.line));
  return lines;
}

TEST(StampOrigins, EveryNodeOfEveryPresetHasALineOfItsModelAfterEveryPass) {
  for (const Preset& preset : presets()) {
    Module module = model_of(preset.name);
    expect_lines_of_models(module, "model");
    training_pipeline({}, {}, {})
        .run(module, {.after_pass = [&](int, const Pass& pass, const Module& now) {
               expect_lines_of_models(now, pass.name);
             }});
  }
}

TEST(StampOrigins, AGradientHasTheLineOfItsForward) {
  Module module = model_of("tiny");
  training_pipeline({}, {}, {}).run(module, {.stop_after = "build_backward"});
  const BlockClass &layer = module.classes[static_cast<size_t>(module.find_class("layer"))],
                   &head = module.classes[static_cast<size_t>(module.find_class("head"))];
  for (const auto& [forward, gradient] : {std::pair{OpKind::attention, OpKind::attention_grad},
                                          std::pair{OpKind::swiglu, OpKind::swiglu_grad},
                                          std::pair{OpKind::rms_norm, OpKind::rms_norm_grad}}) {
    EXPECT_EQ(lines_of(layer, forward), lines_of(layer, gradient)) << name(gradient);
    EXPECT_EQ(lines_of(layer, forward).size(), 1u) << name(forward);
  }
  EXPECT_EQ(lines_of(head, OpKind::output_loss), lines_of(head, OpKind::output_loss_grad));
  // Each product has two gradients, which are products too.
  std::map<std::string, int> products;
  for (const Node& node : layer.graph.nodes())
    if (node.op == OpKind::matmul)
      ++products[to_string(layer.graph.value(node.results.front()).origin.line)];
  EXPECT_EQ(products.size(), 6u);
  for (const auto& [line, count] : products) EXPECT_EQ(count, 3) << line;
}

TEST(StampOrigins, NamesThePassThatMadeANodeAndTheLastThatChangedIt) {
  Module module = model_of("gpt2-124m");
  training_pipeline({}, {}, {}).run(module, {});
  const auto layer = origins_of(module.classes[static_cast<size_t>(module.find_class("layer"))]);
  std::map<std::string_view, int> made, changed;
  for (const auto& [name, origin] : layer) {
    ++made[origin.made_by];
    ++changed[origin.changed_by];
  }
  EXPECT_GT(made["model"], 5);
  EXPECT_GT(made["build_backward"], 10);
  EXPECT_GT(made["update_parameters"], 0);
  EXPECT_EQ(made.count(""), 0u);
  EXPECT_GT(changed["fuse"], 2);
  EXPECT_GT(changed["join_norm_gradients"], 0);
  EXPECT_EQ(layer.at("attention").made_by, "model");
  EXPECT_EQ(layer.at("attention").changed_by, "");
}

TEST(SourceLine, IsAPathInTheProjectOrTheFileAsGiven) {
  EXPECT_EQ(file_name(SourceLine::here()), "src/compiler/stamp_origins_test.cpp");
  EXPECT_EQ(to_string(SourceLine{"/home/me/src/models/mine.cpp", 7}),
            "/home/me/src/models/mine.cpp:7");
}

}  // namespace
}  // namespace tessera
