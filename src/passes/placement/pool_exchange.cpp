// SPDX-License-Identifier: Apache-2.0
#include "passes/placement/pool_exchange.h"

#include "core/error.h"
#include "ir/op_list.h"
#include "ir/pool.h"
#include "passes/placement/reshard.h"

namespace tessera {
namespace {

constexpr size_t kEnds = 2;  // of order_routes' results

bool is_sorted_part(const AxisPlacement& place, bool is_ends) {
  return is_ends ? place.kind == AxisPlacement::Kind::Partial : place.is_shard(kSlotDim);
}

bool is_made_by_sort(const Graph& graph, ValueId value) {
  const NodeId producer = graph.value(value).producer;
  return producer != kNone && graph.node(producer).op == OpKind::order_routes;
}

// kNone: it comes from no pool.
ValueId find_ends(const Graph& graph, ValueId value) {
  if (!is_pool_side(graph.value(value).type) || graph.value(value).producer == kNone) return kNone;
  const Node& node = graph.node(graph.value(value).producer);
  if (node.op == OpKind::order_routes) return node.results[kEnds];
  for (const ValueId operand : node.operands)
    if (const ValueId found = find_ends(graph, operand); found != kNone) return found;
  return kNone;
}

}  // namespace

std::optional<PoolExchange> pool_exchange(const Graph& graph, ValueId value, const Placement& to) {
  const TensorType& type = graph.value(value).type;
  const bool is_ends = !is_pool(type);
  if (!is_pool_side(type) || (is_ends && !is_made_by_sort(graph, value))) return std::nullopt;
  Placement now = graph.value(value).placement;
  now.resize(to.size());
  AxisIds put, take;
  for (size_t axis = 0; axis < to.size(); ++axis) {
    const bool puts = is_sorted_part(now[axis], is_ends) && to[axis].is_shard(kExpertDim);
    const bool takes = now[axis].is_shard(kExpertDim) && is_sorted_part(to[axis], is_ends);
    if (!puts && !takes) continue;
    (puts ? put : take).push_back(static_cast<int>(axis));
    now[axis] = to[axis];
  }
  if (put.empty() == take.empty() || (is_ends && put.empty()) || !same_place(now, to))
    return std::nullopt;
  if (is_ends) return PoolExchange{PoolExchange::Kind::Ends, put};
  return put.empty() ? PoolExchange{PoolExchange::Kind::Take, take}
                     : PoolExchange{PoolExchange::Kind::Put, put};
}

ValueId ends_of_pool(const Graph& graph, ValueId value) {
  const ValueId ends = find_ends(graph, value);
  TESSERA_CHECK(ends != kNone, "%{} is a pool that nothing sorted", graph.value(value).name);
  return ends;
}

}  // namespace tessera
