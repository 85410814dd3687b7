// SPDX-License-Identifier: Apache-2.0
// Each sort that fills a pool, or that others fill by exchange, adds to a step value. A block that
// every rank has takes the largest of all ranks before the update, and makes the gradient norm
// infinite where it is above 1.
#include "passes/gradient/hold_updates.h"

#include <numeric>

#include "ir/emit.h"
#include "ir/op_list.h"
#include "passes/gradient/step_totals.h"

namespace tessera {
namespace {

constexpr size_t kSource = 1, kNeeded = 3, kNeededOfAll = 1;  // of order_routes, and of pool_ends

ValueId scalar_input(Graph& graph, const std::string& name) {
  return graph.add_input({.kind = InputKind::Step, .value = kNone, .state = {}}, name,
                         scalar(DType::Fp64));
}

void return_step(Graph& graph, const std::string& name, ValueId value, bool accumulates) {
  graph.add_output(
      {.kind = OutputKind::Step, .value = value, .target = name, .accumulates = accumulates});
}

// What a node says of rows that are needed, and the source of a pool of that size.
struct Needed {
  ValueId rows = kNone, source = kNone;
};

Needed needed_by(const Graph& graph, const Node& node) {
  if (node.op == OpKind::order_routes && node.results.size() > kNeeded)
    return {node.results[kNeeded], node.results[kSource]};
  if (node.op != OpKind::pool_ends || node.results.size() <= kNeededOfAll) return {};
  // Rows that a rank sorts have as much room as its pool.
  const Node& gather = graph.node(graph.value(node.operands[0]).producer);
  const Node& sort = graph.node(graph.value(gather.operands[0]).producer);
  return {node.results[kNeededOfAll], sort.results[kSource]};
}

void tell_need(Graph& graph, std::vector<Node>& nodes, const Needed& needed) {
  const ValueId need =
      emit(graph, OpKind::expert_need, {needed.rows, needed.source}, {.name = kExpertNeed}).front();
  return_step(graph, kExpertNeed, need, true);
  nodes.push_back(graph.nodes().back());
}

// What the backward sorts again is not told again.
int64_t tell_needs(Graph& graph) {
  int64_t told = 0;
  std::vector<Node> nodes;
  const std::vector<Node> all = graph.nodes();
  for (const Node& node : all) {
    nodes.push_back(node);
    const Needed needed = needed_by(graph, node);
    if (needed.rows == kNone || node.phase != Phase::Forward) continue;
    tell_need(graph, nodes, needed);
    ++told;
  }
  if (told > 0) graph.rebuild(std::move(nodes));
  return told;
}

Graph holding_graph(const Module& module, const Plan& plan) {
  Graph graph;
  // A stage may have no experts.
  if (module.stages > 1)
    return_step(
        graph, kExpertNeed,
        emit(graph, OpKind::expert_need, {}, {.phase = Phase::Begin, .name = "no_need"}).front(),
        true);
  AxisIds axes(static_cast<size_t>(plan.mesh.num_axes()));
  std::iota(axes.begin(), axes.end(), 0);
  const ValueId largest = emit(graph, OpKind::all_reduce, {scalar_input(graph, kExpertNeed)},
                               {.attributes = {{"axes", plan.mesh.word(axes)},
                                               {"ranks", int64_t{plan.mesh.size(axes)}},
                                               {"reduction", "max"}},
                                .phase = Phase::MetricReduce,
                                .name = "expert_need.largest"})
                              .front();
  return_step(graph, kExpertNeed, largest, false);
  const ValueId held =
      emit(graph, OpKind::hold_update, {scalar_input(graph, "norm_squares"), largest},
           {.phase = Phase::NormReduce, .name = "norm_squares.held"})
          .front();
  return_step(graph, "norm_squares", held, false);
  return graph;
}

PassCounts add_room_block(Module& module, const Plan& plan) {
  int64_t pools = 0;
  for (BlockClass& block_class : module.classes) pools += tell_needs(block_class.graph);
  if (pools > 0) {
    module.classes.push_back({.name = "expert_room", .graph = holding_graph(module, plan)});
    module.blocks.push_back({.name = "expert_room",
                             .class_index = static_cast<int>(module.classes.size()) - 1,
                             .ties = {},
                             .stage = kEveryStage});
  }
  return {{"pools", pools}};
}

}  // namespace

Pass hold_updates(Plan plan) {
  return {.name = "hold_updates",
          .summary = "lets a step whose experts had too little room change nothing",
          .requires_form = Form::Local,
          .ensures_form = Form::Local,
          .run = [plan = std::move(plan)](Module& module) { return add_room_block(module, plan); }};
}

}  // namespace tessera
