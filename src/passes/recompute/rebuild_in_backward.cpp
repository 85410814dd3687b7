// SPDX-License-Identifier: Apache-2.0
// A value is cloned with everything that it depends on, back to kept values and inputs; each once.
#include <map>

#include "ir/emit.h"
#include "passes/recompute/recompute.h"

namespace tessera {
namespace {

class Rebuild {
 public:
  Rebuild(Graph& graph, const std::set<ValueId>& dropped) : graph_(graph) {
    for (const ValueId id : kept_values(graph))
      if (!dropped.contains(id)) kept_.insert(id);
    for (const GraphOutput& output : graph.outputs())
      if (output.kind == OutputKind::Stream) kept_.insert(output.value);
  }

  void run() {
    const std::vector<Node> nodes = graph_.nodes();
    for (const Node& node : nodes) {
      Node own = node;
      if (makes_gradients(node.phase))
        for (ValueId& operand : own.operands) operand = available(operand);
      order_.push_back(std::move(own));
    }
    graph_.rebuild(std::move(order_));
  }

 private:
  // The value itself if it is still available when the backward runs, else its clone.
  ValueId available(ValueId id) {
    const NodeId producer = graph_.value(id).producer;
    if (producer == kNone || graph_.node(producer).phase != Phase::Forward || kept_.contains(id))
      return id;
    if (const auto known = clones_.find(id); known != clones_.end()) return known->second;
    const Node original = graph_.node(producer);
    std::vector<ValueId> operands;
    for (const ValueId operand : original.operands) operands.push_back(available(operand));
    const std::vector<ValueId> results =
        emit(graph_, original.op, std::move(operands),
             {.attributes = original.attributes,
              .phase = Phase::Recompute,
              .name = graph_.value(original.results[0]).name + ".again",
              .line = graph_.value(original.results[0]).origin.line});
    order_.push_back(graph_.nodes().back());
    for (size_t i = 0; i < results.size(); ++i) {
      graph_.value(results[i]).placement = graph_.value(original.results[i]).placement;
      clones_[original.results[i]] = results[i];
    }
    return clones_.at(id);
  }

  Graph& graph_;
  std::set<ValueId> kept_;
  std::map<ValueId, ValueId> clones_;
  std::vector<Node> order_;
};

}  // namespace

std::set<ValueId> kept_values(const Graph& graph) {
  std::set<ValueId> kept;
  for (const Node& node : graph.nodes())
    if (makes_gradients(node.phase))
      for (const ValueId operand : node.operands) {
        const NodeId producer = graph.value(operand).producer;
        if (producer != kNone && graph.node(producer).phase == Phase::Forward) kept.insert(operand);
      }
  return kept;
}

void rebuild_in_backward(Graph& graph, const std::set<ValueId>& dropped) {
  if (!dropped.empty()) Rebuild(graph, dropped).run();
}

}  // namespace tessera
