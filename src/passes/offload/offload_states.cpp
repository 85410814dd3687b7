// SPDX-License-Identifier: Apache-2.0
// What rests on the host keeps its flat buffer, which now lies there; a second one, staged, has its
// content on the device while it is needed. Weights of one shard need none: what gathers them is a
// copy already.
#include "passes/offload/offload_states.h"

#include <algorithm>
#include <map>

#include "ir/emit.h"
#include "ir/op_list.h"
#include "ir/optimizer.h"
#include "passes/gradient/bundle_flats.h"
#include "passes/offload/flat_copy.h"

namespace tessera {
namespace {

bool rests_on_host(FlatRole role, OffloadedStates offloaded) {
  switch (role) {
    case FlatRole::Slot:
      return offloaded >= OffloadedStates::Moments;
    case FlatRole::Master:
    case FlatRole::Average:
      return offloaded >= OffloadedStates::States;
    case FlatRole::WeightsShard:
      return offloaded >= OffloadedStates::Parameters;
    default:
      return false;
  }
}

// One flat buffer.
class OffloadedFlat {
 public:
  OffloadedFlat(Graph& graph, ValueId host) : graph_(graph), host_(host) {
    graph_.value(host_).space = MemorySpace::Host;
  }

  void run(bool updated_there) {
    bring_for_gathers();
    if (!updated_there) bring_for_update();
  }

 private:
  const std::string& host_name() const { return graph_.value(host_).name; }

  ValueId staged() {
    if (staged_ != kNone) return staged_;
    FlatSpec flat = *graph_.input_of(host_)->flat;
    flat.staged = true;
    const Value& host = graph_.value(host_);
    const TensorType type = host.type;
    const Origin origin = host.origin;
    staged_ = graph_.add_input(
        {.kind = InputKind::Flat, .value = kNone, .state = {}, .flat = std::move(flat)},
        host_name() + ".staged", type);
    graph_.value(staged_).origin = origin;
    return staged_;
  }

  bool is_gather(const Node& node) const {
    return node.op == OpKind::all_gather && node.phase == Phase::Gather &&
           node.operands.front() == host_;
  }

  // A gather over ranks reads what was brought before.
  void bring_for_gathers() {
    std::vector<Node> order = graph_.nodes();
    const auto gather =
        std::ranges::find_if(order, [&](const Node& node) { return is_gather(node); });
    if (gather == order.end()) return;
    gather->operands.front() = staged();
    const auto at = gather - order.begin();
    add_flat_copy(graph_, {host_, staged_, Phase::WeightsIn, Phase::Gather});
    order.insert(order.begin() + at, graph_.nodes().end() - 2, graph_.nodes().end());
    graph_.rebuild(std::move(order));
    wait_for_staged();
  }

  // A gather's wait reads what the gather reads.
  void wait_for_staged() {
    for (NodeId id = 0; id < graph_.num_nodes(); ++id)
      if (Node& node = graph_.node(id); node.phase == Phase::GatherWait)
        std::ranges::replace(node.operands, host_, staged_);
  }

  void bring_for_update() {
    bool read = false, written = false;
    for (NodeId id = 0; id < graph_.num_nodes(); ++id) {
      Node& node = graph_.node(id);
      if (node.phase != Phase::Update || std::ranges::count(node.operands, host_) == 0) continue;
      const ValueId here = staged();
      std::ranges::replace(graph_.node(id).operands, host_, here);
      read = true;
    }
    const std::string rests = host_name();
    for (size_t i = 0; i < graph_.outputs().size(); ++i) {
      const GraphOutput& output = graph_.outputs()[i];
      if (output.kind != OutputKind::Flat || output.target != rests) continue;
      const ValueId here = staged();
      graph_.outputs()[i].target = graph_.value(here).name;
      written = true;
    }
    if (read) add_flat_copy(graph_, {host_, staged(), Phase::StatesIn, Phase::StatesInDone});
    if (written) add_flat_copy(graph_, {staged(), host_, Phase::StatesOut, Phase::StatesOutDone});
  }

  Graph& graph_;
  ValueId host_, staged_ = kNone;
};

// The optimizer's nodes work on the host: what they read of the device is copied there first, what
// others read of their results comes back.
class HostUpdate {
 public:
  explicit HostUpdate(Graph& graph) : graph_(graph) {}

  void run() {
    const std::vector<Node> nodes = graph_.nodes();
    for (Node node : nodes) {
      if (node.phase == Phase::Update) {
        const bool here = is_update(node.op);
        for (ValueId& operand : node.operands)
          operand = in_space(operand, here ? MemorySpace::Host : MemorySpace::Device);
        if (here)
          for (const ValueId result : node.results) graph_.value(result).space = MemorySpace::Host;
      }
      order_.push_back(std::move(node));
    }
    for (GraphOutput& output : graph_.outputs())
      if (output.kind == OutputKind::Flat)
        output.value = in_space(output.value, space_of_flat(output.target));
    graph_.rebuild(std::move(order_));
  }

 private:
  MemorySpace space_of_flat(const std::string& flat) const {
    return graph_.value(graph_.find_input(InputKind::Flat, flat)->value).space;
  }

  ValueId in_space(ValueId id, MemorySpace space) {
    if (graph_.value(id).space == space) return id;
    if (const auto known = moved_.find(id); known != moved_.end()) return known->second;
    const bool to_host = space == MemorySpace::Host;
    const ValueId moved = emit(graph_, OpKind::copy, {id},
                               {.attributes = {{"to", std::string(name(space))}},
                                .phase = Phase::Update,
                                .name = graph_.value(id).name + (to_host ? ".on_host" : ".back"),
                                .line = graph_.value(id).origin.line})
                              .front();
    graph_.value(moved).space = space;
    order_.push_back(graph_.nodes().back());
    moved_[id] = moved;
    return moved;
  }

  Graph& graph_;
  std::vector<Node> order_;
  std::map<ValueId, ValueId> moved_;
};

PassCounts run(Module& module, const Offload& offload) {
  int64_t buffers = 0, bytes = 0;
  for (BlockClass& block_class : module.classes) {
    const std::vector<GraphInput> inputs = block_class.graph.inputs();
    const int64_t before = buffers;
    for (const GraphInput& input : inputs) {
      if (!input.flat || !rests_on_host(input.flat->role, offload.states)) continue;
      OffloadedFlat(block_class.graph, input.value).run(offload.update_on_host);
      ++buffers;
      bytes += block_class.graph.value(input.value).type.bytes();
    }
    if (offload.update_on_host && buffers > before) HostUpdate(block_class.graph).run();
  }
  return {{"buffers", buffers}, {"bytes", bytes}};
}

}  // namespace

Pass offload_states(Plan plan) {
  return {.name = "offload_states",
          .summary = "lets states rest on the host, with copies around the update and before use",
          .requires_form = Form::Local,
          .ensures_form = Form::Local,
          .run = [plan = std::move(plan)](Module& module) {
            const bool any = plan.offload.states != OffloadedStates::None;
            return any ? run(module, plan.offload) : PassCounts{};
          }};
}

}  // namespace tessera
