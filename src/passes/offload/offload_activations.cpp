// SPDX-License-Identifier: Apache-2.0
// Values that the forward makes and the backward reads. The residual stream stays, for the next
// block reads it too, and so does what takes next to nothing.
#include "passes/offload/offload_activations.h"

#include <algorithm>
#include <map>
#include <set>

#include "ir/emit.h"
#include "ir/op_list.h"
#include "passes/node_work.h"
#include "passes/recompute/rebuild_cost.h"

namespace tessera {
namespace {

// What is smaller than this share of all that a block keeps is not worth a copy.
constexpr int64_t kSmallShare = 64;

bool is_returned(const Graph& graph, ValueId id) {
  return std::ranges::any_of(graph.outputs(),
                             [&](const GraphOutput& output) { return output.value == id; });
}

// In the order in which they are made.
std::vector<ValueId> kept_by_forward(const Graph& graph) {
  std::vector<ValueId> kept;
  const std::vector<std::vector<NodeId>> readers = graph.readers();
  for (const Node& node : graph.nodes()) {
    if (node.phase != Phase::Forward) continue;
    for (const ValueId id : node.results)
      if (!is_returned(graph, id) &&
          std::ranges::any_of(readers[static_cast<size_t>(id)], [&](NodeId reader) {
            return side(graph.node(reader).phase) == StepSide::Backward;
          }))
        kept.push_back(id);
  }
  return kept;
}

std::vector<ValueId> worth_a_copy(const Graph& graph, std::vector<ValueId> kept) {
  int64_t all = 0;
  for (const ValueId id : kept) all += graph.value(id).type.bytes();
  std::erase_if(kept, [&](ValueId id) { return graph.value(id).type.bytes() * kSmallShare < all; });
  return kept;
}

class ActivationMoves {
 public:
  explicit ActivationMoves(Graph& graph) : graph_(graph) {}

  void run(const std::vector<ValueId>& moved) {
    const std::vector<Node> nodes = graph_.nodes();
    std::vector<Node> to_host, back;
    for (const ValueId id : moved) {
      const std::string name = graph_.value(id).name;
      const ValueId on_host =
          move(id, MemorySpace::Host, name + ".to_host", name + ".on_host", to_host);
      here_[id] = move(on_host, MemorySpace::Device, name + ".to_device", name + ".back", back);
    }
    std::vector<Node> order;
    bool came = false;
    for (Node node : nodes) {
      if (side(node.phase) == StepSide::Backward) {
        if (!std::exchange(came, true)) append(order, to_host, back);
        for (ValueId& operand : node.operands)
          if (const auto found = here_.find(operand); found != here_.end()) operand = found->second;
      }
      order.push_back(std::move(node));
    }
    graph_.rebuild(std::move(order));
  }

 private:
  static void append(std::vector<Node>& order, const std::vector<Node>& to_host,
                     const std::vector<Node>& back) {
    order.insert(order.end(), to_host.begin(), to_host.end());
    order.insert(order.end(), back.begin(), back.end());
  }

  ValueId move(ValueId from, MemorySpace to, std::string moving, std::string moved,
               std::vector<Node>& nodes) {
    const bool away = to == MemorySpace::Host;
    const ValueId copied =
        add(OpKind::copy, {from}, {{"to", std::string(name(to))}, {"async", int64_t{1}}},
            away ? Phase::ActivationsOut : Phase::ActivationsIn, std::move(moving), nodes);
    const ValueId there =
        add(OpKind::wait, {copied, from}, {},
            away ? Phase::ActivationsOutDone : Phase::ActivationsInDone, std::move(moved), nodes);
    for (const ValueId value : {copied, there}) {
      graph_.value(value).space = to;
      graph_.value(value).placement = graph_.value(from).placement;
    }
    return there;
  }

  ValueId add(OpKind op, std::vector<ValueId> operands, Attributes attributes, Phase phase,
              std::string name, std::vector<Node>& nodes) {
    const SourceLine line = graph_.value(operands.back()).origin.line;
    const ValueId result = emit(graph_, op, std::move(operands),
                                {.attributes = std::move(attributes),
                                 .phase = phase,
                                 .name = std::move(name),
                                 .line = line})
                               .front();
    nodes.push_back(graph_.nodes().back());
    return result;
  }

  Graph& graph_;
  std::map<ValueId, ValueId> here_;  // what the backward reads instead
};

struct Candidate {
  size_t block_class;
  ValueId value;
  RebuildCost cost;
};

// Those that would cost most to recompute first.
std::vector<Candidate> candidates(const Module& module, const DeviceProfile& profile) {
  std::vector<Candidate> all;
  for (size_t c = 0; c < module.classes.size(); ++c) {
    const Graph& graph = module.classes[c].graph;
    const std::vector<ValueId> kept = kept_by_forward(graph);
    const std::set<ValueId> known(kept.begin(), kept.end());
    for (const ValueId id : worth_a_copy(graph, kept))
      all.push_back({c, id, rebuild_cost(graph, known, id, profile)});
  }
  std::ranges::stable_sort(all,
                           [](const Candidate& a, const Candidate& b) { return b.cost < a.cost; });
  return all;
}

// Without those whose copies would last longer than a forward of their block.
std::vector<Candidate> hidden_by_forward(const std::vector<Candidate>& all, const Module& module,
                                         const DeviceProfile& profile) {
  std::vector<double> left;  // of each class's forward, while others of its values are copied
  for (const BlockClass& block_class : module.classes) {
    double& work = left.emplace_back(0);
    for (const Node& node : block_class.graph.nodes())
      if (node.phase == Phase::Forward)
        work += work_of(node_cost(block_class.graph, node), profile);
  }
  std::vector<Candidate> hidden;
  for (const Candidate& each : all) {
    const Graph& graph = module.classes[each.block_class].graph;
    const double copied =
        profile.flops_per_host_byte * static_cast<double>(graph.value(each.value).type.bytes());
    if (copied > left[each.block_class]) continue;
    left[each.block_class] -= copied;
    hidden.push_back(each);
  }
  return hidden;
}

PassCounts run(Module& module, const Offload& offload, const DeviceProfile& profile) {
  std::vector<Candidate> chosen = candidates(module, profile);
  if (offload.hidden) chosen = hidden_by_forward(chosen, module, profile);
  const auto most = static_cast<size_t>(offload.values);
  if (chosen.size() > most) chosen.resize(most);
  std::map<size_t, std::vector<ValueId>> moved;
  int64_t bytes = 0;
  for (const Candidate& each : chosen) {
    moved[each.block_class].push_back(each.value);
    bytes += module.classes[each.block_class].graph.value(each.value).type.bytes();
  }
  for (auto& [c, values] : moved) {
    std::ranges::sort(values);  // in the order in which they are made
    ActivationMoves(module.classes[c].graph).run(values);
  }
  return {{"values", std::ssize(chosen)}, {"bytes", bytes}};
}

}  // namespace

Pass offload_activations(Plan plan, DeviceProfile profile) {
  return {.name = "offload_activations",
          .summary = "sends what the backward reads to the host after the forward, and back",
          .requires_form = Form::Local,
          .ensures_form = Form::Local,
          .run = [plan = std::move(plan), profile](Module& module) {
            if (!plan.offload.activations) return PassCounts{};
            return run(module, plan.offload, profile);
          }};
}

}  // namespace tessera
