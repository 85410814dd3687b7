// SPDX-License-Identifier: Apache-2.0
// Values and weights become e4m3; gradients, whose sizes differ more, e5m2. A router's products, of
// its logits and of their gradients, are left as they are: a rounded score chooses another expert.
#include "passes/precision/use_fp8.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "ir/emit.h"
#include "ir/op_list.h"

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
  return makes_gradients(graph.node(graph.value(value).producer).phase);
}

class Fp8Layer {
 public:
  explicit Fp8Layer(Graph& graph) : graph_(graph) {}

  int64_t run() {
    for (const Node& node : graph_.nodes())
      if (node.op == OpKind::route)
        choices_.insert(graph_.value(node.operands[0]).type.dims.back().name);
    const std::vector<Node> nodes = graph_.nodes();
    for (const Node& node : nodes) {
      if (node.phase == Phase::Recompute) note_original(node, nodes);
      Node kept = node.op == OpKind::matmul && !is_of_router(node) ? in_fp8(node) : node;
      for (const ValueId result : kept.results) maker_[result] = order_.size();
      order_.push_back(std::move(kept));
    }
    graph_.rebuild(std::move(order_));
    return used_;
  }

 private:
  struct Found {
    ValueId largest;
    Phase phase;
  };

  // One of its tensors has the dim of the router's scores.
  bool is_of_router(const Node& node) const {
    const auto has_choice = [&](ValueId id) {
      return std::any_of(choices_.begin(), choices_.end(),
                         [&](const std::string& dim) { return graph_.value(id).type.has(dim); });
    };
    return std::any_of(node.operands.begin(), node.operands.end(), has_choice) ||
           std::any_of(node.results.begin(), node.results.end(), has_choice);
  }

  ValueId original(ValueId value) const {
    const auto found = originals_.find(value);
    return found == originals_.end() ? value : found->second;
  }

  // A recomputed value has the bits of the original.
  void note_original(const Node& rebuilt, const std::vector<Node>& nodes) {
    std::vector<ValueId> operands;
    for (const ValueId operand : rebuilt.operands) operands.push_back(original(operand));
    for (const Node& node : nodes)
      if (node.phase == Phase::Forward && node.op == rebuilt.op &&
          node.attributes == rebuilt.attributes && node.operands == operands)
        for (size_t i = 0; i < node.results.size(); ++i)
          originals_[rebuilt.results[i]] = node.results[i];
  }

  // The node that computes the value also gives its largest entry, if it can.
  void ask_maker(ValueId value) {
    const auto found = maker_.find(value);
    if (found == maker_.end()) return;
    Node& maker = order_[found->second];
    if (op_def(maker.op).results.back() != "largest") return;
    Attributes attributes = maker.attributes;
    attributes.set("largest", int64_t{1});
    emit(graph_, maker.op, maker.operands,
         {.attributes = attributes, .phase = maker.phase, .name = graph_.value(value).name});
    std::vector<ValueId> results = maker.results;
    maker = graph_.nodes().back();
    std::copy(results.begin(), results.end(), maker.results.begin());
    largest_[value] = {maker.results.back(), maker.phase};
    graph_.value(value).origin.changed = true;
  }

  Node in_fp8(const Node& node) {
    std::vector<ValueId> operands = node.operands;
    std::array<bool, 2> known{};
    for (const size_t i : {0, 1}) {
      const ValueId value = original(node.operands[i]);
      if (!largest_.contains(value)) ask_maker(value);
      if (const auto found = largest_.find(value);
          found != largest_.end() && found->second.phase <= node.phase) {
        operands.push_back(found->second.largest);
        known[i] = true;
      }
    }
    const auto format = [&](size_t i) {
      return is_gradient(graph_, node.operands[i]) ? "e5m2" : "e4m3";
    };
    emit(graph_, OpKind::matmul_fp8, std::move(operands),
         {.attributes = {{"dtype", node.attributes.word("dtype")},
                         {"x_format", format(0)},
                         {"w_format", format(1)},
                         {"x_known", int64_t{known[0]}},
                         {"w_known", int64_t{known[1]}}},
          .phase = node.phase,
          .name = graph_.value(node.results[0]).name});
    Node made = graph_.nodes().back();
    made.results[0] = node.results[0];
    graph_.value(node.results[0]).origin.changed = true;
    size_t next = 1;
    for (const size_t i : {0, 1})
      if (!known[i]) largest_[original(node.operands[i])] = {made.results[next++], node.phase};
    ++used_;
    return made;
  }

  Graph& graph_;
  std::set<std::string> choices_;         // dims of routers' scores
  std::map<ValueId, ValueId> originals_;  // of values that the backward recomputes
  std::map<ValueId, size_t> maker_;       // of values: the node in order_
  // The largest entry of a value, from the node that computes it or from the first matmul that
  // reads it. Nothing may depend on weight gradients, which a schedule can run later.
  std::map<ValueId, Found> largest_;
  std::vector<Node> order_;
  int64_t used_ = 0;
};

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
                if (is_layer(block_class.graph)) used += Fp8Layer(block_class.graph).run();
            return PassCounts{{"matmuls", used}};
          }};
}

}  // namespace tessera
