// SPDX-License-Identifier: Apache-2.0
#include "passes/gradient/step_totals.h"

#include <algorithm>
#include <set>

#include "ir/emit.h"
#include "ir/op_list.h"
#include "passes/gradient/label_counts.h"

namespace tessera {
namespace {

AxisIds pending_of_step(const Module& module, std::string_view step) {
  std::set<int> axes;
  for (const BlockClass& block_class : module.classes)
    for (const GraphOutput& output : block_class.graph.outputs())
      if (output.kind == OutputKind::Step && output.target == step)
        for (const int axis : partial_axes(block_class.graph.value(output.value).placement))
          axes.insert(axis);
  return {axes.begin(), axes.end()};
}

std::set<std::string> step_outputs(const Module& module) {
  std::set<std::string> names;
  for (const BlockClass& block_class : module.classes)
    for (const GraphOutput& output : block_class.graph.outputs())
      if (output.kind == OutputKind::Step) names.insert(output.target);
  return names;
}

// Does a block before the last stage add to it?
bool is_of_several_stages(const Module& module, std::string_view step) {
  return std::ranges::any_of(module.blocks, [&](const Block& block) {
    return block.stage != module.stages - 1 &&
           std::ranges::any_of(module.class_of(block).graph.outputs(),
                               [&](const GraphOutput& output) {
                                 return output.kind == OutputKind::Step && output.target == step;
                               });
  });
}

ValueId step_input(Graph& graph, const std::string& step) {
  if (const GraphInput* known = graph.find_input(InputKind::Step, step)) return known->value;
  return graph.add_input({.kind = InputKind::Step, .value = kNone, .state = {}}, step,
                         scalar(DType::Fp64));
}

}  // namespace

void add_total(Graph& graph, const Plan& plan, const std::string& step, const AxisIds& axes,
               Phase phase) {
  if (axes.empty()) return;
  const ValueId value = step_input(graph, step);
  const ValueId total =
      emit(
          graph, OpKind::all_reduce, {value},
          {.attributes = {{"axes", plan.mesh.word(axes)}, {"ranks", int64_t{plan.mesh.size(axes)}}},
           .phase = phase,
           .name = step + ".total"})
          .front();
  graph.add_output(
      {.kind = OutputKind::Step, .value = total, .target = step, .accumulates = false});
}

void StepTotals::add(const std::string& step, const AxisIds& axes, Phase phase) {
  add_total(graph_, plan_, step, axes, phase);
}

void StepTotals::begin_with_zero(const std::string& step, const char* known, Phase phase) {
  const ValueId nothing =
      emit(graph_, OpKind::sum_of_squares, {step_input(graph_, known)},
           {.attributes = {{"scale", 0.0}}, .phase = phase, .name = step + ".begin"})
          .front();
  graph_.add_output(
      {.kind = OutputKind::Step, .value = nothing, .target = step, .accumulates = true});
}

void StepTotals::append_to(Module& module) {
  if (graph_.num_nodes() == 0) return;
  module.classes.push_back({.name = name_, .graph = std::move(graph_)});
  module.blocks.push_back({.name = name_,
                           .class_index = static_cast<int>(module.classes.size()) - 1,
                           .ties = {},
                           .stage = stage_});
}

namespace {

StepTotals totals_of_forward(const Module& module, const Plan& plan, std::string_view except) {
  StepTotals totals(plan, "totals", module.stages - 1);
  for (const std::string& step : step_outputs(module))
    if (step != except && !is_of_several_stages(module, step))
      totals.add(step, pending_of_step(module, step),
                 step == "label_count" ? Phase::CountReduce : Phase::MetricReduce);
  return totals;
}

StepTotals totals_of_stages(const Module& module, const Plan& plan) {
  StepTotals totals(plan, "stage_totals", kEveryStage);
  for (const std::string& step : step_outputs(module)) {
    if (!is_of_several_stages(module, step)) continue;
    AxisIds axes = pending_of_step(module, step);
    axes.push_back(plan.pipeline_axis);
    std::ranges::sort(axes);
    totals.begin_with_zero(step, kLabelCount, Phase::CountReduce);
    totals.add(step, axes, Phase::MetricReduce);
  }
  return totals;
}

}  // namespace

void append_forward_totals(Module& module, const Plan& plan) {
  const bool counts_everywhere = layers_read_label_count(module);
  StepTotals totals = totals_of_forward(module, plan, counts_everywhere ? kLabelCount : "");
  StepTotals stage_totals = totals_of_stages(module, plan);
  totals.append_to(module);
  stage_totals.append_to(module);
  if (counts_everywhere) count_labels_on_every_stage(module, plan);
}

}  // namespace tessera
