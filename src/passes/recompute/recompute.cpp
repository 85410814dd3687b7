// SPDX-License-Identifier: Apache-2.0
#include "passes/recompute/recompute.h"

#include <algorithm>
#include <map>

#include "ir/op_list.h"
#include "passes/node_work.h"
#include "passes/recompute/rebuild_cost.h"

namespace tessera {
namespace {

OpKind producer_op(const Graph& graph, ValueId id) {
  return graph.node(graph.value(id).producer).op;
}

// Attention's results: of the whole ring where there is one.
bool is_attention(OpKind op) { return op == OpKind::attention || op == OpKind::merge_attention; }

bool is_stream(const Graph& graph, ValueId value) {
  const GraphOutput* stream = graph.find_output(OutputKind::Stream);
  return stream && stream->value == value;
}

// Attention and the ops between the projections and it: large, and cheap to recompute from them.
std::set<ValueId> attention_values(const Graph& graph) {
  std::set<ValueId> chosen;
  for (const ValueId id : kept_values(graph)) {
    const OpKind op = producer_op(graph, id);
    if (op == OpKind::rope || op == OpKind::concat || is_attention(op)) chosen.insert(id);
  }
  return chosen;
}

// Everything else, of a class that has attention. Products rebuild queries, keys and values, and no
// hop of a ring is repeated.
std::set<ValueId> values_but_attention(const Graph& graph) {
  std::set<ValueId> chosen = kept_values(graph);
  const size_t attention =
      std::erase_if(chosen, [&](ValueId id) { return is_attention(producer_op(graph, id)); });
  std::erase_if(chosen, [&](ValueId id) { return is_stream(graph, id); });
  return attention > 0 ? chosen : std::set<ValueId>{};
}

struct Candidate {
  size_t block_class = 0;
  ValueId value = kNone;
  RebuildCost cost = {};
};

// The cheapest first; those without a matmul before all others.
std::vector<Candidate> candidates(const Module& module, const DeviceProfile& profile) {
  std::vector<Candidate> all;
  for (size_t c = 0; c < module.classes.size(); ++c) {
    const Graph& graph = module.classes[c].graph;
    const std::set<ValueId> kept = kept_values(graph);
    for (const ValueId value : kept)
      if (!is_stream(graph, value))
        all.push_back(
            {.block_class = c, .value = value, .cost = rebuild_cost(graph, kept, value, profile)});
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const Candidate& a, const Candidate& b) { return a.cost < b.cost; });
  return all;
}

// What takes next to nothing is kept, unless its node runs again for something larger: a norm's
// statistics, where nobody reads what it normalised.
void keep_what_is_small(const Graph& graph, std::set<ValueId>& dropped) {
  constexpr int64_t kWorth = 8;  // bytes that a node moves for each that it saves
  std::map<NodeId, int64_t> saved;
  for (const ValueId id : dropped) saved[graph.value(id).producer] += graph.value(id).type.bytes();
  std::erase_if(dropped, [&](ValueId id) {
    const NodeId producer = graph.value(id).producer;
    return kWorth * saved.at(producer) < node_cost(graph, graph.node(producer)).bytes;
  });
}

PassCounts run(Module& module, const Plan& plan, const DeviceProfile& profile) {
  std::map<size_t, std::set<ValueId>> chosen;
  for (size_t c = 0; c < module.classes.size(); ++c) {
    const Graph& graph = module.classes[c].graph;
    if (plan.recompute.kind == RecomputeKind::Attention) chosen[c] = attention_values(graph);
    if (plan.recompute.kind == RecomputeKind::KeepAttention)
      chosen[c] = values_but_attention(graph);
  }
  if (plan.recompute.kind == RecomputeKind::Values || plan.recompute.kind == RecomputeKind::Cheap) {
    std::vector<Candidate> all = candidates(module, profile);
    if (plan.recompute.below_link)  // a copy goes there and comes back
      std::erase_if(all, [&](const Candidate& candidate) {
        return candidate.cost.per_byte >= 2 * profile.flops_per_host_byte;
      });
    const auto expensive =
        std::find_if(all.begin(), all.end(), [](const Candidate& c) { return c.cost.expensive; });
    const auto count = plan.recompute.kind == RecomputeKind::Cheap
                           ? static_cast<size_t>(expensive - all.begin())
                           : std::min(all.size(), static_cast<size_t>(plan.recompute.values));
    for (size_t i = 0; i < count; ++i) chosen[all[i].block_class].insert(all[i].value);
  }
  if (plan.recompute.kind == RecomputeKind::Cheap)
    for (auto& [c, values] : chosen) keep_what_is_small(module.classes[c].graph, values);
  int64_t dropped = 0, bytes = 0;
  for (const auto& [c, values] : chosen) {
    Graph& graph = module.classes[c].graph;
    dropped += static_cast<int64_t>(values.size());
    for (const ValueId id : values) bytes += graph.value(id).type.bytes();
    rebuild_in_backward(graph, values);
  }
  return {{"values", dropped}, {"bytes", bytes}};
}

}  // namespace

Pass recompute(Plan plan, DeviceProfile profile) {
  return {
      .name = "recompute",
      .summary =
          "clones into the backward the nodes that it recomputes instead of keeping their results",
      .requires_form = Form::Local,
      .ensures_form = Form::Local,
      .run = [plan = std::move(plan), profile](Module& module) {
        return run(module, plan, profile);
      }};
}

}  // namespace tessera
