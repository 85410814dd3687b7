// SPDX-License-Identifier: Apache-2.0
// A returned value is placed where its reader expects it; a value that the backward reads in the
// block's slot, or away on the host in between; what is prepared in the block's own bytes; all
// others in scratch, which all routines share, within one. What the first part of a split backward
// leaves for the second takes bytes of the slot that are not read any more.
#include "passes/memory/plan_memory.h"

#include <algorithm>
#include <limits>
#include <set>

#include "ir/emit.h"
#include "ir/op_list.h"
#include "passes/memory/place_intervals.h"

namespace tessera {
namespace {

// A routine that the schedule splits off must not depend on a later one.
void move_what_input_gradients_read(Graph& graph) {
  for (NodeId id = graph.num_nodes() - 1; id >= 0; --id) {
    if (graph.node(id).phase != Phase::InputGrad) continue;
    for (const ValueId operand : graph.node(id).operands) {
      const NodeId producer = graph.value(operand).producer;
      if (producer != kNone && graph.node(producer).phase == Phase::WeightGrad)
        graph.node(producer).phase = Phase::InputGrad;
    }
  }
}

constexpr int kForever = std::numeric_limits<int>::max();

class ClassPlan {
 public:
  ClassPlan(BlockClass& block_class, const DeviceProfile& profile, bool split_backward)
      : class_(block_class),
        graph_(block_class.graph),
        profile_(profile),
        split_backward_(split_backward),
        readers_(graph_.readers()) {}

  int64_t run() {
    place_returned();
    place_prepared();
    place_kept();
    place_aliases();
    std::set<RoutineKind> routines;
    for (const Node& node : graph_.nodes()) routines.insert(routine(node));
    for (const RoutineKind each : routines)
      for (const MemorySpace space : {MemorySpace::Device, MemorySpace::Host})
        place_scratch(each, space);
    return scratch_bytes_;
  }
  int64_t host_scratch_bytes() const { return host_scratch_bytes_; }

 private:
  Location& location(ValueId id) { return graph_.value(id).location; }
  // Evaluate runs the forward's nodes and its own, so both have one plan.
  RoutineKind routine(const Node& node) const {
    const RoutineKind own = routine_of(node.phase, split_backward_);
    return own == RoutineKind::Evaluate ? RoutineKind::Forward : own;
  }

  void place_in_slot(ValueId id) {
    const int64_t bytes = graph_.value(id).type.bytes();
    location(id) = {.lifetime = Lifetime::Slot, .offset = class_.slot_bytes, .bytes = bytes};
    class_.slot_bytes += align_up(bytes);
  }

  void place_returned() {
    for (const GraphOutput& output : graph_.outputs()) {
      if (location(output.value).lifetime != Lifetime::None) continue;
      const int64_t bytes = graph_.value(output.value).type.bytes();
      switch (output.kind) {
        case OutputKind::Stream:
          place_in_slot(output.value);
          break;
        case OutputKind::State:
          location(output.value) = {.lifetime = Lifetime::Persistent, .offset = 0, .bytes = bytes};
          break;
        case OutputKind::Flat:
        case OutputKind::InputGradient:
        case OutputKind::Gradient:
        case OutputKind::Step:
          location(output.value) = {.lifetime = Lifetime::Window, .offset = 0, .bytes = bytes};
          break;
      }
    }
  }

  // In the block's prepared bytes, unless `prepare` alone reads it.
  void place_prepared() {
    for (const Node& node : graph_.nodes()) {
      if (node.phase != Phase::Prepare) continue;
      for (const ValueId id : node.results) {
        const auto& readers = readers_[static_cast<size_t>(id)];
        if (std::all_of(readers.begin(), readers.end(),
                        [&](NodeId reader) { return graph_.node(reader).phase == Phase::Prepare; }))
          continue;
        const int64_t bytes = graph_.value(id).type.bytes();
        location(id) = {
            .lifetime = Lifetime::Prepared, .offset = class_.prepared_bytes, .bytes = bytes};
        class_.prepared_bytes += align_up(bytes);
      }
    }
  }

  // Written by the forward or, where the backward is split, by its first part; read by a later one.
  void place_kept() {
    std::vector<ValueId> left;  // by the first part
    for (ValueId id = 0; id < graph_.num_values(); ++id) {
      const NodeId producer = graph_.value(id).producer;
      if (producer == kNone || location(id).lifetime != Lifetime::None) continue;
      const RoutineKind written = routine(graph_.node(producer));
      if (side(written) == StepSide::Neither || written == RoutineKind::WeightGrad) continue;
      if (graph_.node(producer).op == OpKind::copy) continue;  // it lies where its wait does
      if (leaves(id)) {
        place_away(id);
        continue;
      }
      for (const NodeId reader : readers_[static_cast<size_t>(id)])
        if (routine(graph_.node(reader)) != written) {
          if (written == RoutineKind::InputGrad)
            left.push_back(id);
          else
            place_in_slot(id);
          break;
        }
    }
    place_left(left);
  }

  // How long a value in the slot is read, in nodes; kForever: by the second part, or by others.
  int last_read(ValueId id) const {
    int last = 0;
    for (const GraphOutput& output : graph_.outputs())
      if (output.value == id) return kForever;
    for (const NodeId reader : readers_[static_cast<size_t>(id)]) {
      const RoutineKind read = routine(graph_.node(reader));
      if (read == RoutineKind::InputGrad)
        last = std::max(last, static_cast<int>(reader));
      else if (side(read) != StepSide::Forward)
        return kForever;
    }
    return last;
  }

  // The first of the nodes whose results are one buffer.
  NodeId first_writer(ValueId id) const {
    NodeId writer = graph_.value(id).producer;
    while (op_def(graph_.node(writer).op).aliases) {
      const NodeId before = graph_.value(graph_.node(writer).operands[0]).producer;
      if (before == kNone) break;
      writer = before;
    }
    return writer;
  }

  void place_left(std::vector<ValueId> left) {
    std::vector<Interval> intervals;
    for (ValueId id = 0; id < graph_.num_values(); ++id)
      if (const Location& at = location(id); at.lifetime == Lifetime::Slot)
        intervals.push_back(
            {.begin = 0, .end = last_read(id), .bytes = at.bytes, .offset = at.offset});
    intervals.reserve(intervals.size() + left.size());  // pointers stay
    std::vector<const Interval*> placed;
    for (const Interval& interval : intervals) placed.push_back(&interval);
    const auto below = [](const Interval* a, const Interval* b) { return a->offset < b->offset; };
    std::stable_sort(placed.begin(), placed.end(), below);
    std::stable_sort(left.begin(), left.end(), [&](ValueId a, ValueId b) {
      return graph_.value(a).type.bytes() > graph_.value(b).type.bytes();
    });
    for (const ValueId id : left) {
      Interval& own = intervals.emplace_back(Interval{.begin = static_cast<int>(first_writer(id)),
                                                      .end = kForever,
                                                      .bytes = graph_.value(id).type.bytes()});
      own.offset = first_fit(placed, own);
      placed.insert(std::upper_bound(placed.begin(), placed.end(), &own, below), &own);
      location(id) = {.lifetime = Lifetime::Slot, .offset = own.offset, .bytes = own.bytes};
      class_.slot_bytes = std::max(class_.slot_bytes, own.offset + align_up(own.bytes));
    }
  }

  NodeId reader_in(ValueId id, Phase phase) const {
    for (const NodeId reader : readers_[static_cast<size_t>(id)])
      if (graph_.node(reader).phase == phase) return reader;
    return kNone;
  }
  bool leaves(ValueId id) const { return reader_in(id, Phase::ActivationsOut) != kNone; }

  // The value, its copy on the host and what comes back lie at one offset of the bytes that are
  // away, each in its own memory and at its own time.
  void place_away(ValueId id) {
    const int64_t bytes = graph_.value(id).type.bytes();
    const Location away{.lifetime = Lifetime::Away, .offset = class_.away_bytes, .bytes = bytes};
    class_.away_bytes += align_up(bytes);
    location(id) = away;
    for (const auto& [start, done] : {std::pair{Phase::ActivationsOut, Phase::ActivationsOutDone},
                                      std::pair{Phase::ActivationsIn, Phase::ActivationsInDone}}) {
      const ValueId copied = graph_.node(reader_in(id, start)).results.front();
      id = graph_.node(reader_in(copied, done)).results.front();
      location(id) = away;
    }
  }

  // If the result of an aliasing op already has a place, the operand takes it.
  void place_aliases() {
    for (const Node& node : graph_.nodes()) {
      if (!op_def(node.op).aliases || graph_.value(node.operands[0]).producer == kNone) continue;
      Location& operand = location(node.operands[0]);
      TESSERA_CHECK(operand.lifetime == Lifetime::None, "class {}: %{} has a place of its own",
                    class_.name, graph_.value(node.operands[0]).name);
      operand = location(node.results[0]);
    }
  }

  int last_position(ValueId id, const std::vector<int>& position) const {
    int last = position[static_cast<size_t>(graph_.value(id).producer)];
    for (const NodeId reader : readers_[static_cast<size_t>(id)]) {
      TESSERA_CHECK(position[static_cast<size_t>(reader)] >= 0,
                    "class {}: %{} is read by another routine", class_.name, graph_.value(id).name);
      last = std::max(last, position[static_cast<size_t>(reader)]);
    }
    return last;
  }

  // If the op allows it and the operand has no later use, result r takes over the operand's
  // interval.
  int taken_over(const Node& node, size_t result, int at, const std::vector<int>& interval_of,
                 const std::vector<Interval>& intervals) const {
    for (const InPlace& in_place : op_def(node.op).in_place) {
      if (in_place.result != result || in_place.operand >= node.operands.size()) continue;
      const ValueId operand = node.operands[in_place.operand];
      const int candidate = interval_of[static_cast<size_t>(operand)];
      if (candidate == kNone || intervals[static_cast<size_t>(candidate)].end != at) continue;
      const bool read_twice = std::count(node.operands.begin(), node.operands.end(), operand) > 1;
      if (!read_twice && intervals[static_cast<size_t>(candidate)].bytes ==
                             graph_.value(node.results[result]).type.bytes())
        return candidate;
    }
    return kNone;
  }

  void place_scratch(RoutineKind wanted, MemorySpace space) {
    std::vector<int> position(static_cast<size_t>(graph_.num_nodes()), -1);
    std::vector<NodeId> nodes;
    for (NodeId id = 0; id < graph_.num_nodes(); ++id)
      if (routine(graph_.node(id)) == wanted) {
        position[static_cast<size_t>(id)] = static_cast<int>(nodes.size());
        nodes.push_back(id);
      }
    std::vector<Interval> intervals;
    std::vector<int> interval_of(static_cast<size_t>(graph_.num_values()), kNone);
    std::vector<int> workspace_of(nodes.size(), kNone);
    for (size_t at = 0; at < nodes.size(); ++at) {
      const Node& node = graph_.node(nodes[at]);
      const auto now = static_cast<int>(at);
      for (size_t r = 0; r < node.results.size(); ++r) {
        const ValueId id = node.results[r];
        if (location(id).lifetime != Lifetime::None || graph_.value(id).space != space) continue;
        const int last = last_position(id, position);
        int chosen = taken_over(node, r, now, interval_of, intervals);
        TESSERA_CHECK(!op_def(node.op).aliases || chosen != kNone, "class {}: %{} is moved",
                      class_.name, graph_.value(id).name);
        if (chosen == kNone) {
          chosen = static_cast<int>(intervals.size());
          intervals.push_back(
              {.begin = now, .end = last, .bytes = graph_.value(id).type.bytes(), .offset = 0});
        } else {
          intervals[static_cast<size_t>(chosen)].end = last;
        }
        interval_of[static_cast<size_t>(id)] = chosen;
      }
      if (const int64_t bytes = space == MemorySpace::Device ? workspace_bytes(node) : 0) {
        workspace_of[at] = static_cast<int>(intervals.size());
        intervals.push_back({.begin = now, .end = now, .bytes = bytes, .offset = 0});
      }
    }
    int64_t& most = space == MemorySpace::Host ? host_scratch_bytes_ : scratch_bytes_;
    most = std::max(most, place_intervals(intervals));
    const auto as_location = [&](int i) {
      const Interval& interval = intervals[static_cast<size_t>(i)];
      return Location{
          .lifetime = Lifetime::Scratch, .offset = interval.offset, .bytes = interval.bytes};
    };
    for (ValueId id = 0; id < graph_.num_values(); ++id)
      if (interval_of[static_cast<size_t>(id)] != kNone)
        location(id) = as_location(interval_of[static_cast<size_t>(id)]);
    for (size_t at = 0; at < nodes.size(); ++at)
      if (workspace_of[at] != kNone)
        graph_.node(nodes[at]).workspace = as_location(workspace_of[at]);
  }

  int64_t workspace_bytes(const Node& node) const {
    const OpDef& def = op_def(node.op);
    if (!def.workspace_bytes) return 0;
    const std::vector<TensorType> operands = types_of(graph_, node.operands),
                                  results = types_of(graph_, node.results);
    return def.workspace_bytes(
        {.op = node.op, .attributes = node.attributes, .operands = operands, .results = results},
        profile_);
  }

  BlockClass& class_;
  Graph& graph_;
  const DeviceProfile& profile_;
  bool split_backward_;
  std::vector<std::vector<NodeId>> readers_;
  int64_t scratch_bytes_ = 0, host_scratch_bytes_ = 0;
};

}  // namespace

Pass plan_memory(DeviceProfile profile) {
  return {.name = "plan_memory",
          .summary = "assigns memory to every value and workspace: state, window, slot or scratch",
          .requires_form = Form::Maths,
          .ensures_form = Form::Planned,
          .run = [profile](Module& module) {
            int64_t slot_bytes = 0;
            for (BlockClass& block_class : module.classes) {
              if (module.split_backward) move_what_input_gradients_read(block_class.graph);
              ClassPlan plan(block_class, profile, module.split_backward);
              module.scratch_bytes = std::max(module.scratch_bytes, plan.run());
              module.host_scratch_bytes =
                  std::max(module.host_scratch_bytes, plan.host_scratch_bytes());
            }
            for (const Block& block : module.blocks)
              slot_bytes += module.class_of(block).slot_bytes;
            module.form = Form::Planned;
            return PassCounts{{"scratch_bytes", module.scratch_bytes}, {"slot_bytes", slot_bytes}};
          }};
}

}  // namespace tessera
