// SPDX-License-Identifier: Apache-2.0
// Pattern: largest_entry(y), where y is result 0 of an op whose last result is `largest`.
#include "passes/fusion/fold_largest_entries.h"

#include "ir/emit.h"
#include "ir/op_list.h"
#include "passes/fusion/kept_nodes.h"

namespace tessera {
namespace {

class ClassLargestEntries {
 public:
  explicit ClassLargestEntries(Graph& graph) : graph_(graph), kept_(graph) {}

  int64_t run() {
    int64_t folded = 0;
    for (const Node& node : graph_.nodes())
      if (try_fold(node))
        ++folded;
      else
        kept_.keep(node);
    kept_.rebuild();
    return folded;
  }

 private:
  bool try_fold(const Node& node) {
    if (node.op != OpKind::largest_entry) return false;
    const ValueId value = node.operands[0];
    const int index = kept_.maker_of(value);
    if (index == kNone) return false;
    Node& maker = kept_[index];
    const bool can = op_def(maker.op).results.back() == "largest" && maker.results[0] == value &&
                     maker.phase <= node.phase && maker.attributes.integer("largest") == 0;
    if (!can) return false;
    maker.attributes.set("largest", int64_t{1});
    graph_.value(value).origin.changed = true;
    std::vector<ValueId> results = maker.results;
    results.push_back(node.results[0]);
    kept_.give_results(index, std::move(results));
    return true;
  }

  Graph& graph_;
  KeptNodes kept_;
};

}  // namespace

Pass fold_largest_entries() {
  return {.name = "fold_largest_entries",
          .summary = "lets the op that computes a value find its largest entry, if it can",
          .requires_form = Form::Maths,
          .ensures_form = Form::Maths,
          .run = [](Module& module) {
            int64_t folded = 0;
            for (BlockClass& block_class : module.classes)
              folded += ClassLargestEntries(block_class.graph).run();
            return PassCounts{{"folded", folded}};
          }};
}

}  // namespace tessera
