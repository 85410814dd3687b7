// SPDX-License-Identifier: Apache-2.0
#include "passes/recompute/rebuild_cost.h"

#include "passes/node_work.h"

namespace tessera {
namespace {

constexpr int64_t kExpensive = 4;  // flops per byte: norms and activations stay below

}  // namespace

RebuildCost rebuild_cost(const Graph& graph, const std::set<ValueId>& kept, ValueId value,
                         const DeviceProfile& profile) {
  double cost = 0;
  bool expensive = op_def(graph.node(graph.value(value).producer).op).shrinks;
  std::set<NodeId> done;
  std::vector<ValueId> wanted{value};
  while (!wanted.empty()) {
    const ValueId id = wanted.back();
    wanted.pop_back();
    const NodeId producer = graph.value(id).producer;
    if (producer == kNone || (id != value && kept.contains(id)) || !done.insert(producer).second)
      continue;
    const Node& node = graph.node(producer);
    const Cost own = node_cost(graph, node);
    cost += work_of(own, profile);
    expensive = expensive || op_def(node.op).communicates || own.flops > kExpensive * own.bytes;
    wanted.insert(wanted.end(), node.operands.begin(), node.operands.end());
  }
  return {.expensive = expensive,
          .per_byte = cost / static_cast<double>(graph.value(value).type.bytes())};
}

}  // namespace tessera
