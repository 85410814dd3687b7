// SPDX-License-Identifier: Apache-2.0
// Walks each class from its last node to its first. Invariant: when a node is reached, all
// contributions to the gradients of its results are known. A parameter's gradient is an
// accumulator: it adds up over microbatches and over blocks that share it.
#include "passes/gradient/build_backward.h"

#include <algorithm>

#include "ir/emit.h"

namespace tessera {
namespace {

class ClassGradient {
 public:
  explicit ClassGradient(Graph& graph) : graph_(graph) {}

  void build() {
    const int forward_nodes = graph_.num_nodes();
    if (const GraphOutput* stream = graph_.find_output(OutputKind::Stream)) {
      const Value& value = graph_.value(stream->value);
      const ValueId output = stream->value;
      contribute(output,
                 graph_.add_input({.kind = InputKind::OutputGradient, .value = kNone, .state = {}},
                                  "d_" + value.name, value.type));
    }
    for (NodeId id = forward_nodes - 1; id >= 0; --id)
      if (graph_.node(id).phase == Phase::Forward) differentiate(id);
    return_gradients();
  }

 private:
  void contribute(ValueId value, ValueId gradient) {
    if (contributions_.size() <= static_cast<size_t>(value))
      contributions_.resize(static_cast<size_t>(value) + 1);
    contributions_[static_cast<size_t>(value)].push_back(gradient);
  }

  // The sum of all contributions, or kNone where nothing downstream depends on the value.
  ValueId gradient_of(ValueId value, Phase phase) {
    if (static_cast<size_t>(value) >= contributions_.size()) return kNone;
    std::vector<ValueId>& parts = contributions_[static_cast<size_t>(value)];
    while (parts.size() > 1) {
      const ValueId second = parts.back();
      parts.pop_back();
      parts.back() =
          emit(graph_, OpKind::add, {parts.back(), second},
               {.attributes = {}, .phase = phase, .name = "d_" + graph_.value(value).name})
              .front();
    }
    return parts.empty() ? kNone : parts.front();
  }

  bool is_step_output(ValueId value) const {
    return std::any_of(graph_.outputs().begin(), graph_.outputs().end(),
                       [&](const GraphOutput& output) {
                         return output.kind == OutputKind::Step && output.value == value;
                       });
  }

  void differentiate(NodeId id) {
    const std::vector<ValueId> results = graph_.node(id).results;
    const std::vector<ValueId> operands = graph_.node(id).operands;
    const OpDef& def = op_def(graph_.node(id).op);
    std::vector<ValueId> result_gradients;
    for (const ValueId result : results)
      result_gradients.push_back(gradient_of(result, Phase::InputGrad));
    const bool is_loss = def.gradient_yields_results && is_step_output(results.front());
    const bool reached = std::any_of(result_gradients.begin(), result_gradients.end(),
                                     [](ValueId g) { return g != kNone; });
    if (!reached && !is_loss) return;

    GradientBuilder builder(graph_, id, result_gradients);
    bool wanted = false;
    for (size_t i = 0; i < operands.size(); ++i) wanted = wanted || builder.needs(i);
    if (!wanted) return;
    if (!def.gradient)
      throw user_error("{} has no gradient, but a parameter or the stream needs one through it",
                       def.name);
    def.gradient(builder);
    for (size_t i = 0; i < operands.size(); ++i)
      if (builder.operand_gradients()[i] != kNone && builder.needs(i))
        contribute(operands[i], builder.operand_gradients()[i]);
    if (is_loss) run_only_in_evaluate(id, builder.result_stand_ins());
  }

  // The gradient node yields the loss too: the forward node is left to `evaluate`.
  void run_only_in_evaluate(NodeId id, const std::vector<ValueId>& stand_ins) {
    graph_.node(id).phase = Phase::Evaluate;
    const std::vector<GraphOutput> outputs = graph_.outputs();
    for (size_t i = 0; i < stand_ins.size(); ++i)
      for (GraphOutput output : outputs)
        if (output.kind == OutputKind::Step && output.value == graph_.node(id).results[i]) {
          output.value = stand_ins[i];
          graph_.add_output(output);
        }
  }

  bool kernel_can_accumulate(ValueId value) const {
    const NodeId producer = graph_.value(value).producer;
    if (producer == kNone) return false;
    const Node& node = graph_.node(producer);
    const auto index = static_cast<size_t>(
        std::find(node.results.begin(), node.results.end(), value) - node.results.begin());
    const std::vector<size_t>& able = op_def(node.op).accumulates;
    return std::find(able.begin(), able.end(), index) != able.end();
  }

  bool has_other_use(ValueId value) const {
    const bool read =
        std::any_of(graph_.nodes().begin(), graph_.nodes().end(), [&](const Node& node) {
          return std::find(node.operands.begin(), node.operands.end(), value) !=
                 node.operands.end();
        });
    const bool returned =
        std::any_of(graph_.outputs().begin(), graph_.outputs().end(),
                    [&](const GraphOutput& output) { return output.value == value; });
    return read || returned;
  }

  ValueId copied(ValueId value, const std::string& about, Phase phase, DType dtype) {
    return emit(graph_, OpKind::accumulate, {value},
                {.attributes = {{"dtype", std::string(name(dtype))}},
                 .phase = phase,
                 .name = "d_" + about})
        .front();
  }

  void return_gradients() {
    const std::vector<GraphInput> inputs = graph_.inputs();
    for (const GraphInput& input : inputs) {
      const TensorType type = graph_.value(input.value).type;
      const std::string about = graph_.value(input.value).name;
      if (input.kind == InputKind::State) {
        ValueId gradient = gradient_of(input.value, Phase::WeightGrad);
        if (gradient == kNone) continue;
        if (!kernel_can_accumulate(gradient) || has_other_use(gradient))
          gradient = copied(gradient, about, Phase::WeightGrad, accumulator_of(type.dtype));
        graph_.add_output({.kind = OutputKind::Gradient,
                           .value = gradient,
                           .target = about,
                           .accumulates = true});
      } else if (input.kind == InputKind::Stream) {
        ValueId gradient = gradient_of(input.value, Phase::InputGrad);
        if (gradient == kNone)
          throw user_error("the loss does not depend on the stream %{}", about);
        if (graph_.value(gradient).producer == kNone)
          gradient = copied(gradient, about, Phase::InputGrad, type.dtype);
        graph_.add_output({.kind = OutputKind::InputGradient,
                           .value = gradient,
                           .target = {},
                           .accumulates = false});
      }
    }
  }

  Graph& graph_;
  std::vector<std::vector<ValueId>> contributions_;  // by value
};

}  // namespace

Pass build_backward() {
  return {.name = "build_backward",
          .summary = "adds input and weight gradients to each block class, from each op's own rule",
          .requires_form = Form::Maths,
          .ensures_form = Form::Step,
          .run = [](Module& module) {
            int64_t before = 0, after = 0;
            for (BlockClass& block_class : module.classes) {
              before += block_class.graph.num_nodes();
              ClassGradient(block_class.graph).build();
              after += block_class.graph.num_nodes();
            }
            module.form = Form::Step;
            return PassCounts{{"nodes_added", after - before}};
          }};
}

}  // namespace tessera
