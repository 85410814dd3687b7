// SPDX-License-Identifier: Apache-2.0
// Counts are integers that add up as gradients do, so that no order of sums changes them. They are
// made with the gradients of weights: once for each microbatch, never by an evaluation and never
// again where the forward is recomputed.
#include "passes/gradient/count_loads.h"

#include "ir/emit.h"
#include "ir/op_list.h"
#include "passes/gradient/bundle_flats.h"

namespace tessera {
namespace {

// The axes over which ranks have tokens of their own.
AxisIds token_axes(const Placement& placement) {
  AxisIds axes;
  for (size_t i = 0; i < placement.size(); ++i)
    if (placement[i].kind == AxisPlacement::Kind::Shard) axes.push_back(static_cast<int>(i));
  return axes;
}

void count_router(BlockClass& block_class, NodeId router, const Plan& plan) {
  Graph& graph = block_class.graph;
  const std::vector<ValueId> operands = graph.node(router).operands;
  const ValueId chosen = graph.node(router).results[1];
  const Dim choice = graph.value(operands[0]).type.dims.back();
  const bool biased = operands.size() > 1;
  Bundle bundle{.name = biased ? graph.value(operands[1]).name : graph.value(chosen).name,
                .parameters = {},
                .begins = {},
                .elements = choice.size};
  const ValueId load =
      graph.add_input({.kind = InputKind::Flat,
                       .value = kNone,
                       .state = {},
                       .flat = FlatSpec{.bundle = bundle.name, .role = FlatRole::Load}},
                      bundle.name + ".load", {DType::Int32, {choice}});
  graph.value(load).origin.line = graph.value(chosen).origin.line;
  return_flat(graph, load,
              emit_for_bundle(graph, bundle, OpKind::count_routes, {chosen},
                              {{"experts", choice.size}}, Phase::WeightGrad, "counts"),
              true);
  if (const AxisIds axes = token_axes(graph.value(chosen).placement); !axes.empty())
    return_flat(
        graph, load,
        emit_for_bundle(graph, bundle, OpKind::all_reduce, {load},
                        {{"axes", plan.mesh.word(axes)}, {"ranks", int64_t{plan.mesh.size(axes)}}},
                        Phase::ReduceTied, "total"));
  block_class.bundles.push_back(std::move(bundle));
}

PassCounts count_all(Module& module, const Plan& plan) {
  int64_t routers = 0;
  for (BlockClass& block_class : module.classes) {
    const int nodes = block_class.graph.num_nodes();
    for (NodeId id = 0; id < nodes; ++id) {
      const Node& node = block_class.graph.node(id);
      if (node.op != OpKind::route || node.phase != Phase::Forward) continue;
      count_router(block_class, id, plan);
      ++routers;
    }
  }
  return {{"routers", routers}};
}

}  // namespace

ValueId find_load(const BlockClass& block_class, std::string_view bias) {
  const GraphInput* load = find_flat(block_class, bias, FlatRole::Load);
  return load ? load->value : kNone;
}

Pass count_loads(Plan plan) {
  return {.name = "count_loads",
          .summary = "counts how often each expert is chosen in a step",
          .requires_form = Form::Local,
          .ensures_form = Form::Local,
          .run = [plan = std::move(plan)](Module& module) { return count_all(module, plan); }};
}

}  // namespace tessera
