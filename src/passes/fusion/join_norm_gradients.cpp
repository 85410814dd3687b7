// SPDX-License-Identifier: Apache-2.0
// Pattern: add(more, dx) or add(dx, more), where dx is the result of a norm's gradient with no
// other use, and `more` is computed before it.
#include "passes/fusion/join_norm_gradients.h"

#include "ir/emit.h"
#include "ir/op_list.h"
#include "passes/fusion/kept_nodes.h"

namespace tessera {
namespace {

class ClassNorms {
 public:
  explicit ClassNorms(Graph& graph) : graph_(graph), kept_(graph) {}

  int64_t run() {
    int64_t joined = 0;
    for (const Node& node : graph_.nodes())
      if (try_join(node))
        ++joined;
      else
        kept_.keep(node);
    kept_.rebuild();
    return joined;
  }

 private:
  bool has_room_for_more(const Node& node) const {
    return (node.op == OpKind::layer_norm_grad || node.op == OpKind::rms_norm_grad) &&
           node.operands.size() + 1 == op_def(node.op).operands.size();
  }

  bool try_join(const Node& add) {
    if (add.op != OpKind::add) return false;
    for (const size_t i : {1, 0}) {
      const ValueId dx = add.operands[i], more = add.operands[1 - i];
      const int index = kept_.maker_of(dx);
      if (index == kNone || kept_.maker_of(more) >= index || !kept_.read_once(dx)) continue;
      Node& norm = kept_[index];
      if (!has_room_for_more(norm) || norm.results[0] != dx || norm.phase != add.phase) continue;
      norm.operands.push_back(more);
      std::vector<ValueId> results = norm.results;
      results[0] = add.results[0];
      kept_.give_origin(dx, add.results[0]);
      kept_.give_results(index, std::move(results));
      return true;
    }
    return false;
  }

  Graph& graph_;
  KeptNodes kept_;
};

}  // namespace

Pass join_norm_gradients() {
  return {
      .name = "join_norm_gradients",
      .summary =
          "fuses the addition of a residual connection's gradient into the gradient of its norm",
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
