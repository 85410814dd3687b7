// SPDX-License-Identifier: Apache-2.0
// Pattern: add(more, dx) or add(dx, more), dx of a norm's gradient and read by nothing else, `more`
// there before it.
#include "passes/fusion/join_norm_gradients.h"

#include <algorithm>

#include "ir/emit.h"

namespace tessera {
namespace {

class ClassNorms {
 public:
  explicit ClassNorms(Graph& graph)
      : graph_(graph),
        readers_(graph.readers()),
        kept_index_(static_cast<size_t>(graph.num_values()), kNone) {}

  int64_t run() {
    int64_t joined = 0;
    for (const Node& node : graph_.nodes())
      if (try_join(node))
        ++joined;
      else
        keep(node);
    graph_.rebuild(std::move(kept_));
    return joined;
  }

 private:
  void keep(const Node& node) {
    for (const ValueId result : node.results) index_of(result) = static_cast<int>(kept_.size());
    kept_.push_back(node);
  }

  // The kept node that makes a value; kNone: an input.
  int& index_of(ValueId value) { return kept_index_[static_cast<size_t>(value)]; }

  bool is_returned(ValueId value) const {
    return std::any_of(graph_.outputs().begin(), graph_.outputs().end(),
                       [&](const GraphOutput& output) { return output.value == value; });
  }

  bool has_room_for_more(const Node& node) const {
    return (node.op == OpKind::layer_norm_grad || node.op == OpKind::rms_norm_grad) &&
           node.operands.size() + 1 == op_def(node.op).operands.size();
  }

  bool try_join(const Node& add) {
    if (add.op != OpKind::add) return false;
    for (const size_t i : {1, 0}) {
      const ValueId dx = add.operands[i], more = add.operands[1 - i];
      const int index = index_of(dx);
      if (index == kNone || index_of(more) >= index || is_returned(dx) ||
          readers_[static_cast<size_t>(dx)].size() != 1)
        continue;
      Node& norm = kept_[static_cast<size_t>(index)];
      if (!has_room_for_more(norm) || norm.results[0] != dx || norm.phase != add.phase) continue;
      norm.operands.push_back(more);
      norm.results[0] = add.results[0];
      index_of(add.results[0]) = index;
      return true;
    }
    return false;
  }

  Graph& graph_;
  std::vector<std::vector<NodeId>> readers_;
  std::vector<int> kept_index_;
  std::vector<Node> kept_;
};

}  // namespace

Pass join_norm_gradients() {
  return {
      .name = "join_norm_gradients",
      .summary = "adds a residual connection's gradient where that of the norm beside it is made",
      .requires_form = Form::Maths,
      .ensures_form = Form::Maths,
      .run = [](Module& module) {
        int64_t joined = 0;
        for (BlockClass& block_class : module.classes)
          joined += ClassNorms(block_class.graph).run();
        return PassCounts{{"joined", joined}};
      }};
}

}  // namespace tessera
