// SPDX-License-Identifier: Apache-2.0
// Pattern: y = swiglu(h) @recompute before dh = swiglu_grad(h, dy). The weight gradients between
// them that read y move after the latter; if anything else reads it there, both stay as they are.
#include "passes/fusion/join_rebuilt_swiglu.h"

#include <algorithm>
#include <set>

#include "ir/op_list.h"

namespace tessera {
namespace {

class ClassSwiglus {
 public:
  explicit ClassSwiglus(Graph& graph) : graph_(graph), nodes_(graph.nodes()) {}

  int64_t run() {
    int64_t joined = 0;
    for (size_t i = 0; i < nodes_.size();)
      if (is_rebuilt(nodes_[i]) && try_join(i))
        ++joined;  // and i is the next node
      else
        ++i;
    if (joined > 0) graph_.rebuild(std::move(nodes_));
    return joined;
  }

 private:
  static bool is_rebuilt(const Node& node) {
    return node.op == OpKind::swiglu && node.phase == Phase::Recompute && node.results.size() == 1;
  }

  bool try_join(size_t rebuilt) {
    const ValueId h = nodes_[rebuilt].operands[0], y = nodes_[rebuilt].results[0];
    std::set<ValueId> late{y};
    const auto reads_late = [&](const Node& node) {
      return std::any_of(node.operands.begin(), node.operands.end(),
                         [&](ValueId operand) { return late.contains(operand); });
    };
    std::vector<Node> before, after;
    for (size_t i = rebuilt + 1; i < nodes_.size(); ++i) {
      Node& node = nodes_[i];
      if (!reads_late(node)) {
        before.push_back(node);
        if (node.op != OpKind::swiglu_grad || node.operands[0] != h) continue;
        give_value(before.back(), y);
        before.insert(before.end(), after.begin(), after.end());
        std::move(before.begin(), before.end(), nodes_.begin() + static_cast<ptrdiff_t>(rebuilt));
        nodes_.erase(nodes_.begin() + static_cast<ptrdiff_t>(i));
        return true;
      }
      if (node.phase != Phase::WeightGrad) return false;
      late.insert(node.results.begin(), node.results.end());
      after.push_back(node);
    }
    return false;
  }

  void give_value(Node& gradient, ValueId y) {
    gradient.attributes.set("value", int64_t{1});
    gradient.results.insert(gradient.results.begin() + 1, y);
    graph_.value(y).origin.changed = true;
  }

  Graph& graph_;
  std::vector<Node> nodes_;
};

}  // namespace

Pass join_rebuilt_swiglu() {
  return {.name = "join_rebuilt_swiglu",
          .summary = "lets the gradient of a SwiGLU yield the result that the backward recomputes",
          .requires_form = Form::Local,
          .ensures_form = Form::Local,
          .run = [](Module& module) {
            int64_t joined = 0;
            for (BlockClass& block_class : module.classes)
              joined += ClassSwiglus(block_class.graph).run();
            return PassCounts{{"joined", joined}};
          }};
}

}  // namespace tessera
