// SPDX-License-Identifier: Apache-2.0
// For each axis, each node splits the first dim of the axis's list that it has; its results follow.
// Parameters take the placement that their first use needs, batch inputs the one that all uses
// share, and the stream between blocks the one of its own dims.
#include "passes/placement/propagate_placements.h"

#include <map>

#include "passes/placement/node_sharding.h"

namespace tessera {
namespace {

Placement everywhere(const Plan& plan) {
  return Placement(static_cast<size_t>(plan.mesh.num_axes()));
}

// The placements that the uses of a value need, in node order.
std::vector<Placement> wishes(const Plan& plan, const Graph& graph, ValueId value) {
  std::vector<Placement> found;
  for (const Node& node : graph.nodes())
    for (size_t i = 0; i < node.operands.size(); ++i)
      if (node.operands[i] == value) found.push_back(NodeSharding(plan, graph, node).operand(i));
  return found;
}

// A batch input is one buffer for all blocks: split along an axis only if every use needs that;
// otherwise each use slices what it needs.
using BatchPlacements = std::map<std::string, Placement>;

BatchPlacements batch_placements(const Plan& plan, const Module& module) {
  BatchPlacements placements;
  for (const BlockClass& block_class : module.classes)
    for (const GraphInput& input : block_class.graph.inputs()) {
      if (input.kind != InputKind::Batch) continue;
      const std::string& name = block_class.graph.value(input.value).name;
      for (const Placement& wish : wishes(plan, block_class.graph, input.value)) {
        const auto [known, is_new] = placements.try_emplace(name, wish);
        if (is_new) continue;
        for (size_t axis = 0; axis < wish.size(); ++axis)
          if (known->second[axis] != wish[axis]) known->second[axis] = replicate();
      }
    }
  return placements;
}

Placement of_input(const Plan& plan, const Graph& graph, const GraphInput& input,
                   const BatchPlacements& batches) {
  const Value& value = graph.value(input.value);
  switch (input.kind) {
    case InputKind::Stream:
    case InputKind::OutputGradient:
      return free_placement(plan, value.type);
    case InputKind::Batch: {
      const auto found = batches.find(value.name);
      return found == batches.end() ? everywhere(plan) : found->second;
    }
    case InputKind::State: {
      const std::vector<Placement> wanted = wishes(plan, graph, input.value);
      return wanted.empty() ? everywhere(plan) : wanted.front();
    }
    case InputKind::Step:
    case InputKind::Rank:
    case InputKind::Flat:
      return everywhere(plan);
  }
  check_failed("input kind", __FILE__, __LINE__, "");
}

int64_t place_class(const Plan& plan, Graph& graph, const BatchPlacements& batches) {
  int64_t split = 0;
  for (const GraphInput& input : graph.inputs())
    graph.value(input.value).placement = of_input(plan, graph, input, batches);
  for (const Node& node : graph.nodes()) {
    const NodeSharding sharding(plan, graph, node);
    for (size_t i = 0; i < node.results.size(); ++i) {
      graph.value(node.results[i]).placement = sharding.result(i);
      if (sharding.result(i) != everywhere(plan)) ++split;
    }
  }
  return split;
}

}  // namespace

Pass propagate_placements(Plan plan) {
  return {
      .name = "propagate_placements",
      .summary = "gives every value its placement: which axis splits which dim, or a pending sum",
      .requires_form = Form::Maths,
      .ensures_form = Form::Maths,
      .run = [plan = std::move(plan)](Module& module) {
        module.mesh = plan.mesh;
        if (plan.single()) return PassCounts{{"values_placed", 0}};
        const BatchPlacements batches = batch_placements(plan, module);
        int64_t split = 0;
        for (BlockClass& block_class : module.classes)
          split += place_class(plan, block_class.graph, batches);
        return PassCounts{{"values_placed", split}};
      }};
}

}  // namespace tessera
