// SPDX-License-Identifier: Apache-2.0
// Every element is counted once in the norm, however many ranks hold a copy of it.
#include "passes/gradient/gradient_norm.h"

#include <algorithm>
#include <set>

#include "ir/emit.h"
#include "ir/op_list.h"
#include "mesh/group.h"
#include "passes/gradient/bundle_flats.h"
#include "passes/gradient/bundle_parameters.h"
#include "passes/gradient/step_totals.h"

namespace tessera {
namespace {

const GraphOutput* find_gradient(const Graph& graph, std::string_view parameter) {
  for (const GraphOutput& output : graph.outputs())
    if (output.kind == OutputKind::Gradient && output.target == parameter) return &output;
  return nullptr;
}

// The owner updates a tied parameter from its own gradient, to which the others add.
void require_owners_gradients(const Module& module) {
  for (const Block& block : module.blocks)
    for (const auto& [parameter, state] : block.ties) {
      const size_t dot = state.rfind('.');
      const Block& owner =
          module.blocks[static_cast<size_t>(module.find_block(state.substr(0, dot)))];
      const Graph &here = module.class_of(block).graph, &there = module.class_of(owner).graph;
      const GraphOutput *own = find_gradient(here, parameter),
                        *owners = find_gradient(there, state.substr(dot + 1));
      if (!own) continue;
      if (!owners)
        throw user_error("block {} ties {} to {}, which block {} does not train itself", block.name,
                         parameter, state, owner.name)
            .help("let the block that trains it own it, and tie the other");
      const Placement &placement = here.value(own->value).placement,
                      &wanted = there.value(owners->value).placement;
      if (placement != wanted)
        throw user_error("block {} gives the gradient of {} on ({}), its owner {} on ({})",
                         block.name, state, to_string(module.mesh, placement), owner.name,
                         to_string(module.mesh, wanted))
            .help("change the lists of dims in the plan so that both split it in the same way");
    }
}

struct TrainedBundle {
  BlockClass* block_class;
  BundlePlan plan;

  ValueId emit_one(OpKind op, ValueId operand, Attributes attributes, Phase phase,
                   std::string_view what) const {
    return emit_for_bundle(block_class->graph, plan.bundle, op, {operand}, std::move(attributes),
                           phase, what);
  }
};

// Copies on other stages have gradients of their own; each gets the sum.
void sum_copies(const TrainedBundle& bundle, const Mesh& mesh) {
  const std::string& stages = bundle.plan.joined;
  if (stages.empty()) return;
  const ValueId gradient = gradient_at_rest(*bundle.block_class, bundle.plan.bundle);
  const int copies = parse_group(mesh, stages).size;
  return_flat(
      bundle.block_class->graph, gradient,
      bundle.emit_one(OpKind::all_reduce, gradient, {{"axes", stages}, {"ranks", int64_t{copies}}},
                      Phase::ReduceTied, "joined"));
}

// The axes over which the gradient at rest is in pieces.
AxisIds pieces_of(const BundlePlan& bundle) {
  AxisIds axes = bundle.split;
  axes.insert(axes.end(), bundle.bundle.rest.begin(), bundle.bundle.rest.end());
  std::sort(axes.begin(), axes.end());
  return axes;
}

// `all` are the axes over which the norm is totalled; along those that hold copies of this bundle
// each counts its share, and of copies on several stages the owner's counts alone.
void add_squares(const TrainedBundle& bundle, const Mesh& mesh, const AxisIds& all) {
  const double copies = static_cast<double>(mesh.size(all)) / mesh.size(pieces_of(bundle.plan));
  const ValueId squares = bundle.emit_one(
      OpKind::sum_of_squares, gradient_at_rest(*bundle.block_class, bundle.plan.bundle),
      {{"scale", bundle.plan.replica ? 0 : 1 / copies}}, Phase::Norm, "squares");
  bundle.block_class->graph.add_output(
      {.kind = OutputKind::Step, .value = squares, .target = "norm_squares", .accumulates = true});
}

// One whose parameters are all frozen, or that has none, adds nothing to the norm.
bool has_stage_without_bundles(const Module& module) {
  const auto trains = [](const BlockClass& block_class) {
    return std::ranges::any_of(block_class.bundles, [&](const Bundle& bundle) {
      return find_flat(block_class, bundle.name, FlatRole::Gradient) != nullptr;
    });
  };
  std::set<int> with;
  for (const Block& block : module.blocks)
    if (trains(module.class_of(block))) with.insert(block.stage);
  return std::ssize(with) < module.stages;
}

PassCounts add_norms(Module& module, const Plan& plan) {
  require_owners_gradients(module);
  // The last stage has the loss; every stage has a share of the norm.
  append_forward_totals(module, plan);
  StepTotals norm_total(plan, "norm_total", kEveryStage);
  std::vector<TrainedBundle> bundles;
  std::set<int> axes;
  for (BlockClass& block_class : module.classes)
    for (BundlePlan& bundle : bundle_parameters(block_class, plan)) {
      for (const int axis : pieces_of(bundle)) axes.insert(axis);
      bundles.push_back({&block_class, std::move(bundle)});
    }
  const AxisIds norm_axes(axes.begin(), axes.end());
  for (const TrainedBundle& bundle : bundles) sum_copies(bundle, plan.mesh);
  for (const TrainedBundle& bundle : bundles) add_squares(bundle, plan.mesh, norm_axes);
  if (has_stage_without_bundles(module))
    norm_total.begin_with_zero("norm_squares", "step", Phase::Norm);
  if (plan.pipeline_axis >= 0) axes.insert(plan.pipeline_axis);
  norm_total.add("norm_squares", {axes.begin(), axes.end()}, Phase::NormReduce);
  norm_total.append_to(module);
  return {{"bundles", std::ssize(bundles)}};
}

}  // namespace

Pass gradient_norm(Plan plan) {
  return {.name = "gradient_norm",
          .summary = "sums gradients of tied parameters and adds the norm of all gradients",
          .requires_form = Form::Local,
          .ensures_form = Form::Local,
          .run = [plan = std::move(plan)](Module& module) { return add_norms(module, plan); }};
}

}  // namespace tessera
