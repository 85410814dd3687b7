// SPDX-License-Identifier: Apache-2.0
// Pattern: quantize(all_gather(x), largest_entry(all_gather(x))), both with no other reader. Tiles
// and blocks have scales of their own, which are not cut along a dim of the value: they stay.
#include "passes/precision/quantize_before_gather.h"

#include <algorithm>
#include <map>
#include <set>

#include "ir/emit.h"
#include "ir/op_list.h"
#include "ir/verifier.h"

namespace tessera {
namespace {

struct Gathered {
  ValueId own;                // a rank's part
  std::vector<NodeId> steps;  // gathers, the innermost first
  NodeId largest, quantize;
};

class ClassGathers {
 public:
  explicit ClassGathers(Graph& graph)
      : graph_(graph), nodes_(graph.nodes()), readers_(graph.readers()) {}

  int64_t run() {
    for (NodeId id = 0; id < std::ssize(nodes_); ++id)
      if (node(id).op == OpKind::quantize && node(id).operands.size() == 2) find(id);
    if (found_.empty()) return 0;
    for (NodeId id = 0; id < std::ssize(nodes_); ++id) {
      if (const auto gathered = found_.find(id); gathered != found_.end())
        quantize_own(gathered->second);
      else if (!replaced_.contains(id))
        keep(node(id));
    }
    graph_.rebuild(std::move(done_));
    return std::ssize(found_);
  }

 private:
  const Node& node(NodeId id) const { return nodes_[static_cast<size_t>(id)]; }

  bool is_read_by(ValueId value, std::vector<NodeId> all) const {
    std::ranges::sort(all);
    return readers_[static_cast<size_t>(value)] == all &&
           std::ranges::none_of(graph_.outputs(),
                                [&](const GraphOutput& output) { return output.value == value; });
  }

  NodeId gather_of(ValueId value, Phase phase) const {
    const NodeId maker = graph_.value(value).producer;
    const bool gathers =
        maker != kNone && node(maker).op == OpKind::all_gather && node(maker).phase == phase;
    return gathers ? maker : kNone;
  }

  void find(NodeId quantize) {
    const ValueId whole = node(quantize).operands[0], largest = node(quantize).operands[1];
    const Phase phase = node(quantize).phase;
    const NodeId seeker = graph_.value(largest).producer;
    NodeId gather = gather_of(whole, phase);
    if (gather == kNone || seeker == kNone || node(seeker).op != OpKind::largest_entry ||
        node(seeker).phase != phase || !is_read_by(whole, {seeker, quantize}) ||
        !is_read_by(largest, {quantize}))
      return;
    Gathered found{.own = node(gather).operands[0],
                   .steps = {gather},
                   .largest = seeker,
                   .quantize = quantize};
    const NodeId before = gather_of(found.own, phase);
    if (before != kNone && is_read_by(found.own, {gather})) {
      found.own = node(before).operands[0];
      found.steps.insert(found.steps.begin(), before);
    }
    replaced_.insert(found.steps.begin(), found.steps.end());
    replaced_.insert(seeker);
    found_.emplace(quantize, std::move(found));
  }

  void keep(Node node) {
    for (ValueId& operand : node.operands)
      if (const auto other = renamed_.find(operand); other != renamed_.end())
        operand = other->second;
    done_.push_back(std::move(node));
  }

  std::vector<ValueId> emitted(OpKind op, std::vector<ValueId> operands, Attributes attributes,
                               Phase phase, const std::string& name) {
    std::vector<ValueId> results =
        emit(graph_, op, std::move(operands),
             {.attributes = std::move(attributes), .phase = phase, .name = name});
    done_.push_back(graph_.nodes().back());
    return results;
  }

  void quantize_own(const Gathered& found) {
    const Node& whole = node(found.quantize);
    const std::string name = graph_.value(found.own).name;
    std::string axes;
    int64_t ranks = 1;
    for (const NodeId step : found.steps) {
      const std::string& word = node(step).attributes.word("axes");
      axes = axes.empty() ? word : fmt::format("{}+{}", word, axes);
      ranks *= node(step).attributes.integer("ranks");
    }
    const ValueId own =
        emitted(OpKind::largest_entry, {found.own}, {}, whole.phase, name + "_largest").front();
    const ValueId largest =
        emitted(OpKind::all_reduce, {own},
                {{"axes", axes}, {"ranks", ranks}, {"reduction", std::string("max")}}, whole.phase,
                name + "_largest.all_reduce")
            .front();
    const std::vector<ValueId> results = emitted(OpKind::quantize, {found.own, largest},
                                                 whole.attributes, whole.phase, name + "_fp8");
    for (size_t i = 0; i < results.size(); ++i)
      if (i % 2 == 0)
        gather(found, results[i], whole.results[i]);
      else
        renamed_[whole.results[i]] = results[i];
  }

  // `own` of all ranks is `result`.
  void gather(const Gathered& found, ValueId own, ValueId result) {
    for (const NodeId id : found.steps) {
      const Node& step = node(id);
      if (id != found.steps.back()) {
        own = emitted(OpKind::all_gather, {own}, step.attributes, step.phase,
                      graph_.value(own).name + ".all_gather")
                  .front();
        continue;
      }
      Node last = step;
      last.operands = {own};
      last.results = {result};
      graph_.value(result).origin.changed = true;
      done_.push_back(std::move(last));
    }
  }

  Graph& graph_;
  const std::vector<Node> nodes_;  // as they were
  const std::vector<std::vector<NodeId>> readers_;
  std::map<NodeId, Gathered> found_;
  std::set<NodeId> replaced_;
  std::map<ValueId, ValueId> renamed_;
  std::vector<Node> done_;
};

}  // namespace

Pass quantize_before_gather(const Plan& plan) {
  const bool wanted = plan.tp_overlap == TpOverlap::Ring && plan.fp8.has_value();
  return {.name = "quantize_before_gather",
          .summary =
              "lets each rank quantise its part of a gathered value, so that 8 bits travel, where "
              "the plan asks for rings",
          .requires_form = Form::Local,
          .ensures_form = Form::Local,
          .run = [wanted](Module& module) {
            int64_t gathers = 0;
            if (wanted)
              for (BlockClass& block_class : module.classes)
                gathers += ClassGathers(block_class.graph).run();
            verify_placements(module);
            return PassCounts{{"gathers", gathers}};
          }};
}

}  // namespace tessera
