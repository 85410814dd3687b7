// SPDX-License-Identifier: Apache-2.0
// The maths has a pool of just as many rows as tokens send. A rank that has some of the experts may
// get one row of every token for each of them: the pool grows, so that none is ever left out.
#include "passes/placement/size_pools.h"

#include <algorithm>

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

// Of each expert, over all ranks that split them.
int64_t slots_of(const Plan& plan, const OpDef& def, const TensorType& chosen, int64_t experts) {
  // Where rows are exchanged, the ranks that share experts each sort some of their slots.
  const int64_t pools = ranks_on(plan, kOfExperts, kSlotDim),
                sorted = ranks_on(plan, def.name, kSlotDim),
                own = std::max<int64_t>(1, experts / ranks_on(plan, kOfExperts, kExpertDim));
  const int64_t top_k = chosen.dims.back().size, tokens = chosen.num_elements() / top_k / pools;
  const int64_t rows = tokens * std::min(top_k, own);
  const int64_t slots = pools * ((rows + own - 1) / own);
  return (slots + sorted - 1) / sorted * sorted;
}

void infer_again(Graph& graph, const Node& node) {
  const std::vector<TensorType> operands = types_of(graph, node.operands);
  const std::vector<TensorType> results =
      op_def(node.op).infer_types({node.op, node.attributes, operands, {}});
  for (size_t i = 0; i < node.results.size(); ++i) graph.value(node.results[i]).type = results[i];
}

int64_t size_pools_of(const Plan& plan, Graph& graph) {
  int64_t pools = 0;
  for (NodeId id = 0; id < graph.num_nodes(); ++id) {
    Node& node = graph.node(id);
    const OpDef& def = op_def(node.op);
    if (const AttributeSpec* slots = find_size(def, kSlotDim)) {
      const int64_t experts = node.attributes.integer(find_size(def, kExpertDim)->name);
      node.attributes.set(std::string(slots->name),
                          slots_of(plan, def, graph.value(node.operands.front()).type, experts));
      ++pools;
    }
    if (pools > 0) infer_again(graph, node);
  }
  return pools;
}

}  // namespace

Pass size_pools(Plan plan) {
  return {.name = "size_pools",
          .summary = "gives the pools of experts as many rows as could come to one rank",
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
