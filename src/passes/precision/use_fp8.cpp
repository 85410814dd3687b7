// SPDX-License-Identifier: Apache-2.0
// Values and weights become e4m3; gradients, whose sizes differ more, e5m2.
#include "passes/precision/use_fp8.h"

#include <algorithm>

#include "ir/emit.h"

namespace tessera {
namespace {

bool is_layer(const Graph& graph) {
  return graph.find_output(OutputKind::Stream) &&
         std::any_of(graph.inputs().begin(), graph.inputs().end(),
                     [](const GraphInput& input) { return input.kind == InputKind::Stream; });
}

bool is_gradient(const Graph& graph, ValueId value) {
  if (const GraphInput* input = graph.input_of(value))
    return input->kind == InputKind::OutputGradient;
  const Phase phase = graph.node(graph.value(value).producer).phase;
  return phase == Phase::InputGrad || phase == Phase::WeightGrad;
}

int64_t use_in(Graph& graph) {
  int64_t used = 0;
  std::vector<Node> nodes = graph.nodes();
  for (Node& node : nodes) {
    if (node.op != OpKind::matmul) continue;
    const auto format = [&](size_t operand) {
      return is_gradient(graph, node.operands[operand]) ? "e5m2" : "e4m3";
    };
    node.op = OpKind::matmul_fp8;
    node.attributes = complete_attributes(node.op, {{"dtype", node.attributes.word("dtype")},
                                                    {"x_format", format(0)},
                                                    {"w_format", format(1)}});
    ++used;
  }
  graph.rebuild(std::move(nodes));
  return used;
}

}  // namespace

Pass use_fp8(const Plan& plan) {
  return {.name = "use_fp8",
          .summary = "rounds the operands of the layers' matmuls to fp8, where the plan says so",
          .requires_form = Form::Local,
          .ensures_form = Form::Local,
          .run = [on = plan.fp8](Module& module) {
            int64_t used = 0;
            if (on)
              for (BlockClass& block_class : module.classes)
                if (is_layer(block_class.graph)) used += use_in(block_class.graph);
            return PassCounts{{"matmuls", used}};
          }};
}

}  // namespace tessera
