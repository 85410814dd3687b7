// SPDX-License-Identifier: Apache-2.0
// Walks each class from its last node to its first. Invariant: when a node is reached, all
// contributions to the gradients of its results are known. A parameter's gradient is an
// accumulator: it adds up over microbatches and over blocks that share it.
#include "passes/gradient/build_backward.h"

#include <algorithm>

#include "ir/emit.h"
#include "ir/op_list.h"

namespace tessera {
namespace {

bool is_trained(std::string_view step) {
  return step == "loss" || step == "balance_loss" || step == "z_loss";
}

class ClassGradient {
 public:
  explicit ClassGradient(Graph& graph) : graph_(graph) {}

  void build() {
    const int forward_nodes = graph_.num_nodes();
    if (const GraphOutput* stream = graph_.find_output(OutputKind::Stream)) {
      const Value& value = graph_.value(stream->value);
      const ValueId output = stream->value;
      const SourceLine line = value.origin.line;
      const ValueId gradient =
          graph_.add_input({.kind = InputKind::OutputGradient, .value = kNone, .state = {}},
                           "d_" + value.name, value.type);
      graph_.value(gradient).origin.line = line;
      contribute(output, gradient);
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

  // The sum of all contributions, or kNone if nothing downstream depends on the value.
  ValueId gradient_of(ValueId value, Phase phase) {
    if (static_cast<size_t>(value) >= contributions_.size()) return kNone;
    std::vector<ValueId>& parts = contributions_[static_cast<size_t>(value)];
    while (parts.size() > 1) {
      const ValueId second = parts.back();
      parts.pop_back();
      parts.back() = emit(graph_, OpKind::add, {parts.back(), second},
                          {.attributes = {},
                           .phase = phase,
                           .name = "d_" + graph_.value(value).name,
                           .line = graph_.value(value).origin.line})
                         .front();
    }
    return parts.empty() ? kNone : parts.front();
  }

  // The model's loss, and those of its routers. Other step values are only reported: they have no
  // gradient.
  bool is_returned_as_loss(ValueId value) const {
    return std::any_of(graph_.outputs().begin(), graph_.outputs().end(),
                       [&](const GraphOutput& output) {
                         return output.kind == OutputKind::Step && is_trained(output.target) &&
                                output.value == value;
                       });
  }

  void differentiate(NodeId id) {
    const std::vector<ValueId> results = graph_.node(id).results;
    const std::vector<ValueId> operands = graph_.node(id).operands;
    const OpDef& def = op_def(graph_.node(id).op);
    std::vector<ValueId> result_gradients;
    for (const ValueId result : results)
      result_gradients.push_back(gradient_of(result, Phase::InputGrad));
    const bool is_loss = def.gradient_yields_results && is_returned_as_loss(results.front());
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
    for (size_t i = 0; i < operands.size(); ++i) {
      ValueId gradient = builder.operand_gradients()[i];
      if (gradient == kNone || !builder.needs(i)) continue;
      // A rule that passes on the result's gradient does not know that this operand is a parameter.
      if (const DType dtype = builder.gradient_dtype(i); graph_.value(gradient).type.dtype != dtype)
        gradient = copied(gradient, graph_.value(operands[i]).name, Phase::WeightGrad, dtype);
      contribute(operands[i], gradient);
    }
    if (is_loss) run_only_in_evaluate(id, builder.result_stand_ins());
  }

  // The gradient node also computes the loss: only `evaluate` needs the forward node.
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
    return read || is_returned(value);
  }

  ValueId copied(ValueId value, const std::string& about, Phase phase, DType dtype) {
    return emit(graph_, OpKind::accumulate, {value},
                {.attributes = {{"dtype", std::string(name(dtype))}},
                 .phase = phase,
                 .name = "d_" + about})
        .front();
  }

  bool is_returned(ValueId value) const {
    return std::any_of(graph_.outputs().begin(), graph_.outputs().end(),
                       [&](const GraphOutput& output) { return output.value == value; });
  }

  void return_parameter_gradient(const GraphInput& parameter) {
    ValueId gradient = gradient_of(parameter.value, Phase::WeightGrad);
    if (gradient == kNone) return;
    const std::string about = graph_.value(parameter.value).name;
    const DType kept = kept_dtype(*parameter.state, graph_.value(parameter.value).type.dtype);
    if (!kernel_can_accumulate(gradient) || has_other_use(gradient) ||
        graph_.value(gradient).type.dtype != kept)
      gradient = copied(gradient, about, Phase::WeightGrad, kept);
    graph_.add_output(
        {.kind = OutputKind::Gradient, .value = gradient, .target = about, .accumulates = true});
  }

  void return_stream_gradient(const GraphInput& stream) {
    const std::string about = graph_.value(stream.value).name;
    ValueId gradient = gradient_of(stream.value, Phase::InputGrad);
    if (gradient == kNone) throw user_error("the loss does not depend on the stream %{}", about);
    if (graph_.value(gradient).producer == kNone)
      gradient = copied(gradient, about, Phase::InputGrad, graph_.value(stream.value).type.dtype);
    graph_.add_output(
        {.kind = OutputKind::InputGradient, .value = gradient, .target = {}, .accumulates = false});
  }

  // The stream comes first: a gradient that a parameter shares with it is then copied, because the
  // parameter's gradient accumulates.
  void return_gradients() {
    const std::vector<GraphInput> inputs = graph_.inputs();
    for (const GraphInput& input : inputs)
      if (input.kind == InputKind::Stream) return_stream_gradient(input);
    for (const GraphInput& input : inputs)
      if (input.kind == InputKind::State) return_parameter_gradient(input);
  }

  Graph& graph_;
  std::vector<std::vector<ValueId>> contributions_;  // by value
};

// Gradients begin at a loss; there is no gradient for a result of the last block.
void require_loss(const Module& module) {
  if (module.blocks.empty()) return;
  const Graph& last = module.class_of(module.blocks.back()).graph;
  if (const GraphOutput* stream = last.find_output(OutputKind::Stream))
    throw user_error("the last block, {}, returns the stream %{}, but training needs a loss",
                     module.blocks.back().name, last.value(stream->value).name)
        .help("return a loss from the last block, or compile for inference");
}

}  // namespace

Pass build_backward() {
  return {.name = "build_backward",
          .summary = "adds input and weight gradients to each block class, from each op's own rule",
          .requires_form = Form::Maths,
          .ensures_form = Form::Step,
          .run = [](Module& module) {
            require_loss(module);
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
