// SPDX-License-Identifier: Apache-2.0
#include "passes/gradient/label_counts.h"

#include <algorithm>

#include "ir/emit.h"
#include "ir/op_list.h"
#include "passes/gradient/step_totals.h"

namespace tessera {
namespace {

bool is_count(const GraphOutput& output) {
  return output.kind == OutputKind::Step && output.target == kLabelCount;
}

// The class whose nodes count labels; null: none does.
BlockClass* find_counter(Module& module) {
  for (BlockClass& block_class : module.classes)
    if (std::ranges::any_of(block_class.graph.outputs(), is_count)) return &block_class;
  return nullptr;
}

// A value of the head and all that leads to it, such as each rank's share of the labels.
ValueId copied(const Graph& head, ValueId id, Graph& to) {
  const Value& value = head.value(id);
  ValueId copy = to.find_value(value.name);
  if (copy != kNone) return copy;
  if (const GraphInput* input = head.input_of(id)) {
    copy = to.add_input(*input, value.name, value.type);
  } else {
    const Node& node = head.node(value.producer);
    TESSERA_CHECK(node.results.size() == 1, "{} has several results", name(node.op));
    std::vector<ValueId> operands;
    for (const ValueId operand : node.operands) operands.push_back(copied(head, operand, to));
    copy = emit(to, node.op, operands,
                {.attributes = node.attributes, .phase = node.phase, .name = value.name})
               .front();
  }
  to.value(copy).placement = value.placement;
  to.value(copy).origin = value.origin;
  return copy;
}

Graph counting_graph(const Graph& head, ValueId count, const Plan& plan) {
  Graph graph;
  const ValueId copy = copied(head, count, graph);
  graph.add_output(
      {.kind = OutputKind::Step, .value = copy, .target = kLabelCount, .accumulates = true});
  add_total(graph, plan, kLabelCount, partial_axes(graph.value(copy).placement),
            Phase::CountReduce);
  return graph;
}

}  // namespace

bool layers_read_label_count(const Module& module) {
  return module.stages > 1 &&
         std::ranges::any_of(module.classes, [](const BlockClass& block_class) {
           return block_class.graph.find_input(InputKind::Step, kLabelCount) &&
                  std::ranges::none_of(block_class.graph.outputs(), is_count);
         });
}

void count_labels_on_every_stage(Module& module, const Plan& plan) {
  BlockClass* counter = find_counter(module);
  if (!counter) return;
  Graph& head = counter->graph;
  const auto output = std::ranges::find_if(head.outputs(), is_count);
  const NodeId removed = head.value(output->value).producer;
  Graph graph = counting_graph(head, output->value, plan);
  head.outputs().erase(output);
  std::vector<Node> left;
  for (NodeId id = 0; id < head.num_nodes(); ++id)
    if (id != removed) left.push_back(head.node(id));
  head.rebuild(std::move(left));
  module.classes.push_back({.name = "label_counts", .graph = std::move(graph)});
  module.blocks.push_back({.name = "label_counts",
                           .class_index = static_cast<int>(module.classes.size()) - 1,
                           .ties = {},
                           .stage = kEveryStage});
}

}  // namespace tessera
