// SPDX-License-Identifier: Apache-2.0
#include "ir/printer.h"

#include <gtest/gtest.h>

#include "compiler/training_pipeline.h"
#include "exec/testing/small_models.h"
#include "ir/parser.h"

namespace tessera {
namespace {

void expect_reads_back(const Module& module) {
  const std::string text = print(module);
  const Module again = parse_module(text);
  EXPECT_EQ(print(again), text);
  EXPECT_EQ(again.form, module.form);
  EXPECT_EQ(again.scratch_bytes, module.scratch_bytes);
  ASSERT_EQ(again.classes.size(), module.classes.size());
  for (size_t c = 0; c < module.classes.size(); ++c) {
    const Graph &graph = module.classes[c].graph, &read = again.classes[c].graph;
    EXPECT_EQ(again.classes[c].slot_bytes, module.classes[c].slot_bytes);
    ASSERT_EQ(read.num_nodes(), graph.num_nodes());
    for (NodeId id = 0; id < graph.num_nodes(); ++id) {
      EXPECT_EQ(read.node(id).attributes, graph.node(id).attributes);
      EXPECT_EQ(read.node(id).workspace, graph.node(id).workspace);
      EXPECT_EQ(read.node(id).phase, graph.node(id).phase);
    }
    for (size_t i = 0; i < graph.inputs().size(); ++i)
      EXPECT_EQ(read.inputs()[i].state, graph.inputs()[i].state);
  }
}

class RoundTrip : public testing::TestWithParam<std::tuple<SmallModel, DType, HeadKind>> {};

TEST_P(RoundTrip, EveryFormOfAModelReadsBackAsPrinted) {
  const auto& [model, compute, head] = GetParam();
  Module module = model.build(compute, 2, head);
  expect_reads_back(module);
  const PassPipeline pipeline = head == HeadKind::Loss
                                    ? training_pipeline({.ema_decay = 0.999}, {}, {.threads = 2})
                                    : inference_pipeline({}, {.threads = 2});
  int forms = 0;
  pipeline.run(module, {.after_pass = [&](int, const Pass& pass, const Module& after) {
                 SCOPED_TRACE(pass.name);
                 expect_reads_back(after);
                 ++forms;
               }});
  EXPECT_EQ(module.form, Form::Planned);
  EXPECT_EQ(forms, head == HeadKind::Loss ? 24 : 12);
}

std::string case_name(const testing::TestParamInfo<RoundTrip::ParamType>& info) {
  const auto& [model, compute, head] = info.param;
  return fmt::format("{}{}{}", model.name, name(compute),
                     head == HeadKind::Loss ? "Loss" : "Logits");
}

INSTANTIATE_TEST_SUITE_P(Models, RoundTrip,
                         testing::Combine(testing::ValuesIn(small_models()),
                                          testing::Values(DType::Fp32, DType::Bf16, DType::Fp64),
                                          testing::Values(HeadKind::Loss, HeadKind::Logits)),
                         case_name);

TEST(Printer, RealsKeepTheirTypeAndLastBit) {
  for (const double value : {1.0, -2.0, 1e-5, 1e20, 0.1, 1.0 / 3.0, 2.3e-308, 1.7e308}) {
    const std::string text = to_string(Attribute{value});
    EXPECT_NE(text.find_first_of(".e"), std::string::npos) << text;
    EXPECT_EQ(std::stod(text), value) << text;
  }
}

TEST(Printer, ShowsAttributesThatDifferFromTheirDefaultsAlone) {
  const std::string text =
      "module m maths\nclass c {\n  stream %x: fp32[b=2]\n"
      "  %y: fp32[b=2] = gelu(%x)\n  %z: fp32[b=2] = gelu(%y) {approximation=tanh}\n}\n";
  EXPECT_EQ(print(parse_module(text)), text);
}

}  // namespace
}  // namespace tessera
