// SPDX-License-Identifier: Apache-2.0
// What a parameter group changes, and that it changes nothing else.
#include <gtest/gtest.h>

#include "core/convert_elements.h"
#include "exec/testing/small_run.h"
#include "ir/op_list.h"
#include "ir/parser.h"
#include "passes/gradient/group_parameters.h"

namespace tessera {
namespace {

using States = std::map<std::string, std::vector<std::byte>>;

SmallRun trained(std::vector<ParameterGroup> groups, int steps, OpKind op = OpKind::adamw) {
  SmallRun run(small_model("Llama"), {.optimizer = {.op = op, .groups = std::move(groups)}});
  run.losses(steps);
  return run;
}

std::vector<double> moved(const SmallRun& run, const std::string& name, const States& before) {
  const TensorType& type = run.program().find_state(name)->type;
  std::vector<double> now = to_doubles(type, run.states().at(name));
  const std::vector<double> then = to_doubles(type, before.at(name));
  for (size_t i = 0; i < now.size(); ++i) now[i] -= then[i];
  return now;
}

TEST(ParameterGroups, WithoutALearningRateStayWhereTheyAre) {
  const States before = trained({}, 0).states();
  const SmallRun run = trained({{.pattern = "layer.*.w?", .learning_rate_factor = 0}}, 2);
  const States after = run.states();
  for (const char* still : {"layer.0.wq", "layer.1.wv"})
    EXPECT_EQ(after.at(still), before.at(still));
  for (const char* moves : {"layer.0.down", "embedding.table", "head.norm"})
    EXPECT_NE(after.at(moves), before.at(moves)) << moves;
}

TEST(ParameterGroups, MoveByTheirShareOfTheLearningRate) {
  const States before = trained({}, 0).states();
  const SmallRun one = trained({}, 1), half = trained({{"*.down", 0.5}}, 1);
  for (const auto& [name, factor] :
       {std::pair{"layer.0.down", 0.5}, std::pair{"layer.0.wo", 1.0}}) {
    const std::vector<double> whole = moved(one, name, before), part = moved(half, name, before);
    for (size_t i = 0; i < whole.size(); ++i)
      EXPECT_NEAR(part[i], factor * whole[i], 1e-12) << name;
  }
}

TEST(ParameterGroups, DecayAsTheySay) {
  const States before = trained({}, 0).states();
  const SmallRun usual = trained({}, 1),
                 spared = trained({{.pattern = "layer.*.down", .weight_decay = 0.0}}, 1);
  const std::string name = "layer.1.down";
  const std::vector<double> first =
      to_doubles(usual.program().find_state(name)->type, before.at(name));
  const std::vector<double> decayed = moved(usual, name, before),
                            kept = moved(spared, name, before);
  for (size_t i = 0; i < first.size(); ++i)  // learning rate 0.01, decay 0.1
    EXPECT_NEAR(decayed[i] - kept[i], -0.01 * 0.1 * first[i], 1e-12);
}

TEST(ParameterGroups, OfTheFirstPatternThatMatches) {
  const States before = trained({}, 0).states();
  const SmallRun run = trained(
      {{.pattern = "layer.*", .learning_rate_factor = 0}, {.pattern = "*.norm"}, {"*", 3}}, 1);
  EXPECT_EQ(run.states().at("layer.0.wq"), before.at("layer.0.wq"));
  EXPECT_NE(run.states().at("embedding.table"), before.at("embedding.table"));
}

TEST(ParameterGroups, HaveTheStatesOfTheirOptimizer) {
  const SmallRun run = trained(
      {{.pattern = "layer.*", .op = OpKind::muon}, {.pattern = "head.*", .op = OpKind::sgd}}, 1);
  const auto has = [&](const char* state) { return run.program().find_state(state) != nullptr; };
  EXPECT_TRUE(has("layer.0.wq.matrix_momentum"));
  EXPECT_FALSE(has("layer.0.wq.moment1"));
  EXPECT_TRUE(has("layer.0.mlp_norm.moment2"));  // no matrix
  EXPECT_TRUE(has("head.table.momentum"));
  EXPECT_TRUE(has("embedding.table.moment1"));
}

TEST(ParameterGroups, ThatAreFrozenStayAndLeaveOtherGradientsAsTheyAre) {
  const States before = trained({}, 0).states();
  const SmallRun run = trained({{.pattern = "layer.*.w?", .frozen = true}}, 1),
                 usual = trained({}, 1);
  EXPECT_EQ(run.states().at("layer.0.wq"), before.at("layer.0.wq"));
  EXPECT_FALSE(run.states().contains("layer.0.wq.moment1"));
  const auto some = run.gradients(), all = usual.gradients();
  EXPECT_FALSE(some.contains("layer.1.wv"));
  EXPECT_TRUE(all.contains("layer.1.wv"));
  for (const auto& [name, gradient] : some) EXPECT_EQ(gradient, all.at(name)) << name;
}

TEST(ParameterGroups, ThatFreezeEverythingAreRefused) {
  EXPECT_THROW(trained({{.pattern = "*", .frozen = true}}, 0), UserError);
}

TEST(ParameterGroups, OfMatricesNeedAModelThatDeclaresThem) {
  Module module = parse_module(R"(module m maths
class only {
  batch %x: fp32[batch=2, d=4]
  state %w: fp32[d=4, mlp=8] parameter normal(0.02) decay
  %y = matmul(%x, %w)
  return stream %y
}
block b = only
)");
  EXPECT_THROW(group_parameters({.op = OpKind::muon}).run(module), UserError);
  group_parameters({.op = OpKind::lion}).run(module);
  EXPECT_EQ(module.classes[0].graph.find_input(InputKind::State, "w")->state->optimizer, "lion");
}

TEST(ParameterGroups, ThatHoldNothingOrPartOfAKindAreRefused) {
  EXPECT_THROW(trained({{.pattern = "layer.*.wx"}}, 0), UserError);
  EXPECT_THROW(trained({{.pattern = "layer.0.*"}}, 0), UserError);
  EXPECT_THROW(trained({{.pattern = "*"}, {.pattern = "layer.*"}}, 0), UserError);
}

}  // namespace
}  // namespace tessera
