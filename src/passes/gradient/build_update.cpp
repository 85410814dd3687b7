// SPDX-License-Identifier: Apache-2.0
// A parameter's block owns its moments and, below fp32, its fp32 master copy; a tied parameter is
// updated by its owner alone, so every element is counted once in the norm and updated once.
#include "passes/gradient/build_update.h"

#include <algorithm>

#include "ir/emit.h"

namespace tessera {
namespace {

class ParameterUpdate {
 public:
  ParameterUpdate(Graph& graph, const OptimizerOptions& options, ValueId parameter,
                  ValueId gradient)
      : graph_(graph),
        options_(options),
        parameter_(parameter),
        gradient_(gradient),
        name_(graph.value(parameter).name),
        spec_(*graph.input_of(parameter)->state),
        kept_{accumulator_of(graph.value(parameter).type.dtype), graph.value(parameter).type.dims} {
  }

  void add_norm() {
    const ValueId squares =
        emit(graph_, OpKind::sum_of_squares, {gradient_},
             {.attributes = {}, .phase = Phase::Norm, .name = name_ + ".squares"})
            .front();
    graph_.add_output({.kind = OutputKind::Step,
                       .value = squares,
                       .target = "norm_squares",
                       .accumulates = true});
  }

  void add_update() {
    const bool has_master = kept_.dtype != graph_.value(parameter_).type.dtype;
    const ValueId weights =
        has_master ? add_state(StateRole::Master, {.kind = Init::Kind::OfParameter}) : parameter_;
    const ValueId moment1 = add_state(StateRole::Moment1, zeros());
    const ValueId moment2 = add_state(StateRole::Moment2, zeros());
    const Attributes attributes{
        {"beta1", options_.beta1},
        {"beta2", options_.beta2},
        {"epsilon", options_.epsilon},
        {"weight_decay", spec_.decay ? options_.weight_decay : 0.0},
        {"clip_norm", options_.clip_norm},
        {"copy_dtype",
         has_master ? std::string(name(graph_.value(parameter_).type.dtype)) : "none"}};
    const std::vector<ValueId> updated =
        emit(graph_, OpKind::adamw,
             {weights, gradient_, moment1, moment2, step("learning_rate"), step("step"),
              step("norm_squares")},
             {.attributes = attributes, .phase = Phase::Update, .name = name_ + ".new"});
    return_state(weights, updated[0]);
    return_state(moment1, updated[1]);
    return_state(moment2, updated[2]);
    if (has_master) return_state(parameter_, updated[3]);
    if (options_.ema_decay > 0) {
      const ValueId average = add_state(StateRole::Average, {.kind = Init::Kind::OfParameter});
      const ValueId next = emit(graph_, OpKind::moving_average, {average, updated[0]},
                                {.attributes = {{"decay", options_.ema_decay}},
                                 .phase = Phase::Update,
                                 .name = name_ + ".average_new"})
                               .front();
      return_state(average, next);
    }
  }

 private:
  ValueId step(const std::string& step_name) {
    if (const GraphInput* known = graph_.find_input(InputKind::Step, step_name))
      return known->value;
    return graph_.add_input({.kind = InputKind::Step, .value = kNone, .state = {}}, step_name,
                            scalar(DType::Fp64));
  }

  ValueId add_state(StateRole role, Init init) {
    StateSpec spec{.role = role, .init = init, .decay = false, .tied = false, .parameter = name_};
    return graph_.add_input({.kind = InputKind::State, .value = kNone, .state = std::move(spec)},
                            fmt::format("{}.{}", name_, name(role)), kept_);
  }

  void return_state(ValueId state, ValueId next) {
    graph_.add_output({.kind = OutputKind::State,
                       .value = next,
                       .target = graph_.value(state).name,
                       .accumulates = false});
  }

  Graph& graph_;
  const OptimizerOptions& options_;
  ValueId parameter_, gradient_;
  std::string name_;
  StateSpec spec_;
  TensorType kept_;  // the type of moments and master weights
};

int64_t add_updates(Graph& graph, const OptimizerOptions& options) {
  std::vector<ParameterUpdate> updates;
  for (const GraphOutput& output : graph.outputs()) {
    if (output.kind != OutputKind::Gradient) continue;
    const GraphInput* parameter = graph.find_input(InputKind::State, output.target);
    if (!parameter->state->tied)
      updates.emplace_back(graph, options, parameter->value, output.value);
  }
  for (ParameterUpdate& update : updates) update.add_norm();
  for (ParameterUpdate& update : updates) update.add_update();
  return static_cast<int64_t>(updates.size());
}

bool returns_gradient(const Graph& graph, std::string_view parameter) {
  return std::any_of(graph.outputs().begin(), graph.outputs().end(),
                     [&](const GraphOutput& output) {
                       return output.kind == OutputKind::Gradient && output.target == parameter;
                     });
}

// The owner updates a tied parameter from its own gradient, to which the others add.
void require_owners_gradients(const Module& module) {
  for (const Block& block : module.blocks)
    for (const auto& [parameter, state] : block.ties) {
      const size_t dot = state.rfind('.');
      const Block& owner =
          module.blocks[static_cast<size_t>(module.find_block(state.substr(0, dot)))];
      if (returns_gradient(module.class_of(block).graph, parameter) &&
          !returns_gradient(module.class_of(owner).graph, state.substr(dot + 1)))
        throw user_error("block {} ties {} to {}, which block {} does not train itself", block.name,
                         parameter, state, owner.name)
            .help("let the block that trains it own it, and tie the other");
    }
}

}  // namespace

Pass build_update(OptimizerOptions options) {
  return {.name = "build_update",
          .summary = "adds optimizer state, the gradient norm and AdamW for every parameter",
          .requires_form = Form::Step,
          .ensures_form = Form::Step,
          .run = [options](Module& module) {
            require_owners_gradients(module);
            int64_t parameters = 0;
            for (BlockClass& block_class : module.classes)
              parameters += add_updates(block_class.graph, options);
            return PassCounts{{"parameters", parameters}};
          }};
}

}  // namespace tessera
