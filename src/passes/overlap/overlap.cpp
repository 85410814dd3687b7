// SPDX-License-Identifier: Apache-2.0
// Within one routine. Weight gradients have no use there, so they are delayed until a collective is
// in flight; a matmul of the forward that needs nothing in flight goes before a wait that would
// else be idle, as that of an expert which sees every token. A collective on data from another
// routine is not moved up: it would only take memory.
#include "passes/overlap/overlap.h"

#include <algorithm>
#include <set>

#include "ir/emit.h"
#include "ir/op_list.h"
#include "ir/verifier.h"

namespace tessera {
namespace {

bool is_matmul(OpKind op) {
  return op == OpKind::matmul || op == OpKind::matmul_epilogue || op == OpKind::matmul_fp8;
}

class ClassOverlap {
 public:
  explicit ClassOverlap(Graph& graph) : graph_(graph) {}

  void run() {
    std::vector<Node> forward, backward, others_before, others_after;
    for (const Node& node : graph_.nodes()) {
      if (side(node.phase) == StepSide::Backward)
        backward.push_back(node);
      else if (side(node.phase) == StepSide::Forward)
        forward.push_back(node);
      else
        (node.phase < Phase::Forward ? others_before : others_after).push_back(node);
    }
    done_ = std::move(others_before);
    schedule(forward);
    schedule(backward);
    done_.insert(done_.end(), others_after.begin(), others_after.end());
    if (collectives_ > 0) graph_.rebuild(std::move(done_));
  }

  int64_t collectives() const { return collectives_; }
  int64_t overlapped() const { return overlapped_; }

 private:
  struct Flying {
    ValueId started, waited;  // what the collective fills, before and after the wait
    std::vector<ValueId> sources;
    Phase phase;
    bool worked;  // a kernel ran meanwhile
  };

  void schedule(const std::vector<Node>& nodes) {
    todo_ = &nodes;
    emitted_.assign(nodes.size(), false);
    made_here_.clear();
    for (const Node& node : nodes) made_here_.insert(node.results.begin(), node.results.end());
    for (size_t i = 0; i < nodes.size(); ++i) {
      const Node& node = nodes[i];
      if (emitted_[i]) {
        if (op_def(node.op).communicates) release_held();
        continue;
      }
      if (node.phase == Phase::WeightGrad && !op_def(node.op).communicates) {
        held_.push_back(i);
        continue;
      }
      if (reads_held(node)) release_held();
      place(i);
      if (op_def(node.op).communicates && node.phase != Phase::WeightGrad) release_held();
    }
    release_held();
    while (!flying_.empty()) wait(flying_.front().waited);
  }

  bool reads_held(const Node& node) const {
    return std::any_of(held_.begin(), held_.end(), [&](size_t i) {
      const std::vector<ValueId>& results = (*todo_)[i].results;
      return std::any_of(node.operands.begin(), node.operands.end(), [&](ValueId id) {
        return std::find(results.begin(), results.end(), id) != results.end();
      });
    });
  }

  void release_held() {
    const std::vector<size_t> held = std::move(held_);
    held_.clear();
    for (const size_t i : held)
      if (!emitted_[i]) place(i);
  }

  void place(size_t i) {
    const Node& node = (*todo_)[i];
    emitted_[i] = true;
    if (is_matmul(node.op) && node.phase == Phase::Forward) start_what_follows();
    for (const ValueId operand : node.operands) {
      if (is_idle(operand)) place_ready_matmul(i + 1);
      wait(operand);
    }
    if (op_def(node.op).communicates) return start(node);
    done_.push_back(node);
    for (Flying& flying : flying_) flying.worked = true;
    ready_.insert(node.results.begin(), node.results.end());
    start_what_is_ready();
  }

  // In flight, and no kernel has run since.
  bool is_idle(ValueId value) const {
    return std::any_of(flying_.begin(), flying_.end(), [&](const Flying& flying) {
      return flying.waited == value && !flying.worked;
    });
  }

  // In flight, and a kernel has run since.
  bool has_flown(ValueId value) const {
    return std::any_of(flying_.begin(), flying_.end(), [&](const Flying& flying) {
      return flying.waited == value && flying.worked;
    });
  }

  // Collectives that wait for nothing but others that were started some time ago, as rows do for
  // their counts: so that what comes next runs while they are under way.
  void start_what_follows() {
    for (size_t i = 0; i < todo_->size(); ++i) {
      const Node& node = (*todo_)[i];
      if (emitted_[i] || !op_def(node.op).communicates || node.phase == Phase::WeightGrad) continue;
      if (std::all_of(node.operands.begin(), node.operands.end(),
                      [&](ValueId id) { return ready_.contains(id) || has_flown(id); }))
        for (const ValueId operand : node.operands) wait(operand);  // which starts it
    }
  }

  void place_ready_matmul(size_t from) {
    for (size_t i = from; i < todo_->size(); ++i) {
      const Node& node = (*todo_)[i];
      if (emitted_[i] || !is_matmul(node.op) || node.phase != Phase::Forward) continue;
      const bool ready =
          std::all_of(node.operands.begin(), node.operands.end(), [&](ValueId operand) {
            return ready_.contains(operand) || !made_here_.contains(operand);
          });
      if (ready) return place(i);
    }
  }

  // Collectives on data that this routine has just computed.
  void start_what_is_ready() {
    for (size_t i = 0; i < todo_->size(); ++i) {
      const Node& node = (*todo_)[i];
      if (emitted_[i] || !op_def(node.op).communicates || node.phase == Phase::WeightGrad) continue;
      const bool made_here =
          std::all_of(node.operands.begin(), node.operands.end(),
                      [&](ValueId id) { return made_here_.contains(id) && ready_.contains(id); });
      if (!made_here) continue;
      emitted_[i] = true;
      start(node);
    }
  }

  void start(const Node& node) {
    ++collectives_;
    Attributes attributes = node.attributes;
    attributes.set("async", int64_t{1});
    const std::string about = graph_.value(node.results[0]).name;
    const Placement placement = graph_.value(node.results[0]).placement;
    const ValueId started =
        emit(graph_, node.op, node.operands,
             {.attributes = std::move(attributes), .phase = node.phase, .name = about + ".started"})
            .front();
    graph_.value(started).placement = placement;
    hand_over_origin(node.results[0], started);
    done_.push_back(graph_.nodes().back());
    flying_.push_back({.started = started,
                       .waited = node.results[0],
                       .sources = node.operands,
                       .phase = node.phase,
                       .worked = false});
  }

  // The collective computes `started` now; the wait for it is new.
  void hand_over_origin(ValueId waited, ValueId started) {
    Origin& own = graph_.value(waited).origin;
    graph_.value(started).origin = own;
    graph_.value(started).origin.changed = true;
    own.made_by = {};
    own.changed_by = {};
  }

  void wait(ValueId value) {
    const auto found = std::find_if(flying_.begin(), flying_.end(),
                                    [&](const Flying& flying) { return flying.waited == value; });
    if (found == flying_.end()) return;
    const Flying flying = *found;
    flying_.erase(found);
    if (flying.worked) ++overlapped_;
    Node node{.op = OpKind::wait,
              .attributes = {},
              .operands = {flying.started},
              .results = {flying.waited},
              .phase = flying.phase,
              .workspace = {}};
    node.operands.insert(node.operands.end(), flying.sources.begin(), flying.sources.end());
    done_.push_back(std::move(node));
    ready_.insert(flying.waited);
    start_what_is_ready();
  }

  Graph& graph_;
  const std::vector<Node>* todo_ = nullptr;
  std::vector<bool> emitted_;
  std::vector<size_t> held_;  // weight gradients that wait for a collective to overlap with
  std::set<ValueId> made_here_, ready_;
  std::vector<Flying> flying_;
  std::vector<Node> done_;
  int64_t collectives_ = 0, overlapped_ = 0;
};

}  // namespace

Pass overlap() {
  return {.name = "overlap",
          .summary = "starts collectives early and waits late, with weight gradients in between",
          .requires_form = Form::Local,
          .ensures_form = Form::Local,
          .run = [](Module& module) {
            int64_t collectives = 0, overlapped = 0;
            for (BlockClass& block_class : module.classes) {
              ClassOverlap pass(block_class.graph);
              pass.run();
              collectives += pass.collectives();
              overlapped += pass.overlapped();
            }
            verify_placements(module);
            return PassCounts{{"collectives", collectives}, {"overlapped", overlapped}};
          }};
}

}  // namespace tessera
