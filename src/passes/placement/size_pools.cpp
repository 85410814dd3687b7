// SPDX-License-Identifier: Apache-2.0
// The maths has a pool of just as many rows as tokens send. A rank that has some of the experts may
// get one row of every token for each of them: the pool grows, so that none is ever left out. Where
// the plan gives less room than that, the sort also tells how many rows were needed.
#include "passes/placement/size_pools.h"

#include <algorithm>
#include <cmath>

#include "ir/emit.h"
#include "ir/op_def.h"
#include "ir/pool.h"

namespace tessera {
namespace {

constexpr std::string_view kOfExperts = "expert_matmul";  // splits what experts work on

const AttributeSpec* find_size(const OpDef& def, std::string_view dim) {
  for (const AttributeSpec& spec : def.attributes)
    if (spec.size_of == dim) return &spec;
  return nullptr;
}

// The ranks among which a pool's dim is split, by the lists of an op.
int64_t ranks_on(const Plan& plan, std::string_view op, std::string_view dim) {
  int64_t ranks = 1;
  for (int axis = 0; axis < plan.mesh.num_axes(); ++axis) {
    bool own = false;
    const std::vector<std::string>& dims = plan.dims_of(axis, op, own);
    const auto first = std::find_if(dims.begin(), dims.end(), [](const std::string& listed) {
      return listed == kExpertDim || listed == kSlotDim;
    });
    if (first != dims.end() && *first == dim) ranks *= plan.mesh.size(axis);
  }
  return ranks;
}

struct PoolRows {
  int64_t pools, own;  // ranks with one each, and the experts in it
  int64_t sorted;      // ranks that each sort some of the slots: more, where rows are exchanged
  int64_t worst;       // rows that could come to it
  double mean;

  // Of each expert, over all ranks that split them.
  int64_t slots(double room) const {
    const double wanted = std::min(static_cast<double>(worst), std::ceil(room * mean));
    const int64_t slots = pools * ((static_cast<int64_t>(wanted) + own - 1) / own);
    return (slots + sorted - 1) / sorted * sorted;
  }
};

PoolRows pool_rows_of(const Plan& plan, const OpDef& def, const TensorType& chosen,
                      int64_t experts) {
  const int64_t pools = ranks_on(plan, kOfExperts, kSlotDim),
                own = std::max<int64_t>(1, experts / ranks_on(plan, kOfExperts, kExpertDim));
  const int64_t top_k = chosen.dims.back().size, tokens = chosen.num_elements() / top_k / pools;
  return {.pools = pools,
          .own = own,
          .sorted = ranks_on(plan, def.name, kSlotDim),
          .worst = tokens * std::min(top_k, own),
          .mean = static_cast<double>(tokens * top_k * own) / static_cast<double>(experts)};
}

void infer_again(Graph& graph, const Node& node) {
  const std::vector<TensorType> operands = types_of(graph, node.operands);
  const std::vector<TensorType> results =
      op_def(node.op).infer_types({node.op, node.attributes, operands, {}});
  for (size_t i = 0; i < node.results.size(); ++i) graph.value(node.results[i]).type = results[i];
}

// The same sort, with one more result.
void ask_for_needed(Graph& graph, NodeId id) {
  graph.node(id).attributes.set("needed", int64_t{1});
  const Node asked = graph.node(id);
  const std::vector<ValueId> all =
      emit(graph, asked.op, asked.operands,
           {.attributes = asked.attributes, .phase = asked.phase, .name = "order_routes"});
  std::vector<Node> nodes = graph.nodes();
  nodes.pop_back();
  nodes[static_cast<size_t>(id)].results.push_back(all.back());
  graph.value(asked.results.front()).origin.changed = true;
  graph.rebuild(std::move(nodes));
}

int64_t size_pools_of(const Plan& plan, Graph& graph) {
  int64_t pools = 0;
  std::vector<NodeId> small;
  for (NodeId id = 0; id < graph.num_nodes(); ++id) {
    Node& node = graph.node(id);
    const OpDef& def = op_def(node.op);
    if (const AttributeSpec* slots = find_size(def, kSlotDim)) {
      const int64_t experts = node.attributes.integer(find_size(def, kExpertDim)->name);
      const PoolRows rows =
          pool_rows_of(plan, def, graph.value(node.operands.front()).type, experts);
      node.attributes.set(std::string(slots->name), rows.slots(plan.expert_room));
      ++pools;
      if (std::isfinite(plan.expert_room) && static_cast<double>(rows.worst) > rows.mean)
        small.push_back(id);
    }
    if (pools > 0) infer_again(graph, node);
  }
  for (const NodeId id : small) ask_for_needed(graph, id);
  return pools;
}

}  // namespace

Pass size_pools(Plan plan) {
  return {
      .name = "size_pools",
      .summary =
          "gives the pools of experts as many rows as could come to one rank, or as the plan says",
      .requires_form = Form::Maths,
      .ensures_form = Form::Maths,
      .run = [plan = std::move(plan)](Module& module) {
        int64_t pools = 0;
        if (!plan.single())
          for (BlockClass& block_class : module.classes)
            pools += size_pools_of(plan, block_class.graph);
        return PassCounts{{"pools", pools}};
      }};
}

}  // namespace tessera
