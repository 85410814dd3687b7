// SPDX-License-Identifier: Apache-2.0
// Patterns: bias_add(matmul(x, w), b), relu|gelu(matmul...), add(y, matmul...) and gelu_grad(pre,
// matmul(x, w)). The value before the activation stays a result if the backward needs it; a matmul
// whose own result has another use is not fused.
#include "passes/fusion/fuse.h"

#include <algorithm>

#include "ir/emit.h"
#include "ir/op_list.h"
#include "passes/fusion/kept_nodes.h"

namespace tessera {
namespace {

class ClassFusion {
 public:
  explicit ClassFusion(Graph& graph) : graph_(graph), kept_(graph) {}

  int64_t run() {
    for (const Node& node : graph_.nodes())
      if (!try_bias(node) && !try_activation(node) && !try_gelu_grad(node) && !try_add(node))
        kept_.keep(node);
    kept_.rebuild();
    return fused_;
  }

 private:
  // The kept node that computes `value`, if it is an op of that kind in the same phase.
  Node* maker(ValueId value, OpKind op, Phase phase) {
    const int index = kept_.maker_of(value);
    if (index == kNone || kept_[index].op != op || kept_[index].phase != phase) return nullptr;
    return &kept_[index];
  }

  // The matmul that computes `value` computes `results` instead.
  void become_epilogue(ValueId value, Attributes attributes, std::vector<ValueId> results) {
    const int index = kept_.maker_of(value);
    kept_[index].op = OpKind::matmul_epilogue;
    kept_[index].attributes = complete_attributes(OpKind::matmul_epilogue, attributes);
    kept_.give_origin(value, results.front());
    kept_.give_results(index, std::move(results));
    ++fused_;
  }

  // Without an addend; matmul_epilogue has no dtype attribute.
  Node* plain_matmul(ValueId value, Phase phase) {
    Node* matmul = maker(value, OpKind::matmul, phase);
    const bool plain =
        matmul && matmul->operands.size() == 2 && matmul->attributes.word("dtype") == "same";
    return plain ? matmul : nullptr;
  }

  // With a bias and nothing after it.
  Node* biased_matmul(ValueId value, Phase phase) {
    Node* matmul = maker(value, OpKind::matmul_epilogue, phase);
    const bool biased =
        matmul && matmul->operands.size() == 3 && matmul->attributes.word("activation") == "none";
    return biased ? matmul : nullptr;
  }

  // Without an addend.
  Node* fp8_matmul(ValueId value, Phase phase) {
    Node* matmul = maker(value, OpKind::matmul_fp8, phase);
    return matmul && matmul->operands.size() == 4 ? matmul : nullptr;
  }

  bool try_bias(const Node& node) {
    if (node.op != OpKind::bias_add) return false;
    Node* matmul = plain_matmul(node.operands[0], node.phase);
    const TensorType& x = graph_.value(node.operands[0]).type;
    if (!matmul || !kept_.read_once(node.operands[0]) || !graph_.input_of(node.operands[1]))
      return false;
    const TensorType& w = graph_.value(matmul->operands[1]).type;
    const Dims& bias = graph_.value(node.operands[1]).type.dims;
    const bool covers_free_dims =
        std::all_of(bias.begin(), bias.end(), [&](const Dim& dim) { return w.has(dim.name); });
    const auto free_dims = std::count_if(x.dims.begin(), x.dims.end(),
                                         [&](const Dim& dim) { return w.has(dim.name); });
    if (!covers_free_dims || free_dims != static_cast<int64_t>(bias.size())) return false;
    matmul->operands.push_back(node.operands[1]);
    become_epilogue(node.operands[0], {}, node.results);
    return true;
  }

  bool try_activation(const Node& node) {
    std::string activation;
    if (node.op == OpKind::relu)
      activation = "relu";
    else if (node.op == OpKind::gelu)
      activation = node.attributes.word("approximation") == "tanh" ? "gelu_tanh" : "gelu";
    else
      return false;
    const ValueId before = node.operands[0];
    Node* matmul = biased_matmul(before, node.phase);
    if (!matmul) matmul = plain_matmul(before, node.phase);
    if (!matmul || kept_.is_returned(before)) return false;
    // The fused node stays at the position of the matmul, so every reader of `before` still comes
    // after it.
    const bool keep_pre = !kept_.read_once(before);
    std::vector<ValueId> results = node.results;
    if (keep_pre) results.push_back(before);
    become_epilogue(before, {{"activation", activation}, {"keep_pre", int64_t{keep_pre}}},
                    std::move(results));
    return true;
  }

  // The matmul that computes `value` moves to the position of the node, where its new operand is
  // available.
  Node& move_to(const Node& node, ValueId value, ValueId operand) {
    const int index = kept_.maker_of(value);
    kept_.drop(index);
    Node moved = kept_[index];
    moved.operands.push_back(operand);
    moved.results = node.results;
    kept_.give_origin(value, node.results.front());
    ++fused_;
    return kept_.keep(moved);
  }

  bool try_gelu_grad(const Node& node) {
    if (node.op != OpKind::gelu_grad) return false;
    const ValueId dy = node.operands[1];
    if (!plain_matmul(dy, node.phase) || !kept_.read_once(dy) || dy == node.operands[0])
      return false;
    Node& product = move_to(node, dy, node.operands[0]);
    const bool tanh = node.attributes.word("approximation") == "tanh";
    product.op = OpKind::matmul_epilogue;
    product.attributes =
        complete_attributes(product.op, {{"activation", tanh ? "gelu_tanh_grad" : "gelu_grad"}});
    return true;
  }

  bool adds_up(ValueId value) const {
    return std::any_of(graph_.outputs().begin(), graph_.outputs().end(),
                       [&](const GraphOutput& o) { return o.value == value && o.accumulates; });
  }

  bool comes_from_other_ranks(ValueId value) {
    const int index = kept_.maker_of(value);
    if (index == kNone) return false;
    const Node& node = kept_[index];
    return op_def(node.op).communicates ||
           (node.op == OpKind::combine && comes_from_other_ranks(node.operands[0]));
  }

  // Sums that are pending over ranks are not fused. Nor is one with what other ranks send: the
  // matmul runs while that is under way.
  bool try_add(const Node& node) {
    if (node.op != OpKind::add || node.operands[0] == node.operands[1] || adds_up(node.results[0]))
      return false;
    for (const size_t i : {1, 0}) {
      const ValueId own = node.operands[i];
      const Node* product = biased_matmul(own, node.phase);
      if (!product) product = plain_matmul(own, node.phase);
      if (!product) product = fp8_matmul(own, node.phase);
      if (!product || !kept_.read_once(own) || !partial_axes(graph_.value(own).placement).empty() ||
          comes_from_other_ranks(node.operands[1 - i]))
        continue;
      move_to(node, own, node.operands[1 - i]);
      return true;
    }
    return false;
  }

  Graph& graph_;
  KeptNodes kept_;
  int64_t fused_ = 0;
};

}  // namespace

Pass fuse() {
  return {.name = "fuse",
          .summary = "fuses bias, activation, sum and GELU's gradient into the matmul before them",
          .requires_form = Form::Maths,
          .ensures_form = Form::Maths,
          .run = [](Module& module) {
            int64_t fused = 0;
            for (BlockClass& block_class : module.classes)
              fused += ClassFusion(block_class.graph).run();
            return PassCounts{{"fused", fused}};
          }};
}

}  // namespace tessera
