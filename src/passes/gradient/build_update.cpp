// SPDX-License-Identifier: Apache-2.0
// A parameter's block owns its moments and, below fp32, its fp32 master copy; a tied parameter is
// updated by its owner alone. Every element is counted once in the norm and updated once per place
// it rests.
#include "passes/gradient/build_update.h"

#include <algorithm>
#include <set>

#include "ir/emit.h"
#include "ir/rank_index.h"
#include "passes/gradient/bundle_flats.h"
#include "passes/gradient/bundle_parameters.h"
#include "passes/gradient/step_totals.h"

namespace tessera {
namespace {

// Nodes on the flat buffers of one bundle.
class BundleUpdate {
 public:
  BundleUpdate(Graph& graph, const OptimizerOptions& options, const Plan& plan, BundlePlan bundle)
      : graph_(graph),
        options_(options),
        plan_(plan),
        bundle_(std::move(bundle)),
        kept_(bundle_.kept),
        sharded_(bundle_.bundle.shards > 1),
        weights_(add_flat(FlatRole::Weights, bundle_.dtype)),
        gradient_(add_flat(FlatRole::Gradient, kept_)) {
    if (sharded_) {
      shard_ = rank_index(graph_, axes_word({plan_.shard_axis}));
      reduced_ = add_flat(FlatRole::Reduced, kept_);
      gradient_at_rest_ = plan.zero >= 2 ? add_flat(FlatRole::GradientShard, kept_) : reduced_;
      if (plan_.zero == 3) weights_at_rest_ = add_flat(FlatRole::WeightsShard, bundle_.dtype);
    } else {
      gradient_at_rest_ = gradient_;
      weights_at_rest_ = weights_;
    }
  }

  void add_gather() {
    if (sharded_ && plan_.zero == 3)
      gather_bundle(graph_, bundle_.bundle, axes_word({plan_.shard_axis}), weights_at_rest_,
                    weights_);
  }

  // Starts in the phase Reduce, is waited for in Settle. The padding is cleared first: sums over
  // the flat buffer count it.
  void add_reduction() {
    ValueId sum = gradient_;
    if (const std::string gaps = bundle_.gaps(); gaps != "none") {
      sum = emit_one(OpKind::clear_gaps, {sum}, {{"gaps", gaps}}, Phase::Reduce, "clean");
      return_flat(gradient_, sum);
    }
    if (in_another_dtype()) {
      add_reduction_in(*plan_.reduce_dtype, sum);
    } else if (sharded_) {
      add_sharded_reduction(sum);
    } else if (!bundle_.pending.empty()) {
      return_flat(gradient_, summed(sum, bundle_.pending, Phase::Reduce, true));
      return_flat(gradient_, awaited(gradient_, kNone, Phase::ReduceWait));
    }
  }

  // Copies on other stages have gradients of their own; each gets the sum.
  void add_join() {
    if (bundle_.joined.empty()) return;
    const auto copies = std::count(bundle_.joined.begin(), bundle_.joined.end(), '-');
    return_flat(gradient_at_rest_, emit_one(OpKind::all_reduce, {gradient_at_rest_},
                                            {{"axes", bundle_.joined}, {"ranks", int64_t{copies}}},
                                            Phase::ReduceTied, "joined"));
  }

  // The axes over which the gradient at rest is in pieces.
  AxisIds split() const {
    AxisIds axes = bundle_.split;
    if (sharded_) axes.push_back(plan_.shard_axis);
    std::sort(axes.begin(), axes.end());
    return axes;
  }

  // `all` are the axes over which the norm is totalled; along those that hold copies of this bundle
  // each counts its share, and of copies on several stages the owner's counts alone.
  void add_norm(const AxisIds& all) {
    const double copies = static_cast<double>(plan_.mesh.size(all)) / plan_.mesh.size(split());
    const ValueId squares =
        emit_one(OpKind::sum_of_squares, {gradient_at_rest_},
                 {{"scale", bundle_.replica ? 0 : 1 / copies}}, Phase::Norm, "squares");
    graph_.add_output({.kind = OutputKind::Step,
                       .value = squares,
                       .target = "norm_squares",
                       .accumulates = true});
  }

  void add_update() {
    const bool has_master = kept_ != bundle_.dtype;
    const ValueId moment1 = add_flat(FlatRole::Moment1, kept_);
    const ValueId moment2 = add_flat(FlatRole::Moment2, kept_);
    const ValueId weights = has_master ? add_flat(FlatRole::Master, kept_) : resting_weights();
    std::vector<ValueId> operands{
        weights,      gradient_at_rest_,   moment1, moment2, step("learning_rate"),
        step("step"), step("norm_squares")};
    if (sharded_) operands.push_back(shard_);
    const Attributes attributes{
        {"beta1", options_.beta1},
        {"beta2", options_.beta2},
        {"epsilon", options_.epsilon},
        {"weight_decay", bundle_.decayed > 0 ? options_.weight_decay : 0.0},
        {"decayed", bundle_.decayed},
        {"clip_norm", options_.clip_norm},
        {"copy_dtype", has_master ? std::string(name(bundle_.dtype)) : "none"},
        {"seed", options_.rounding_seed}};
    const std::vector<ValueId> updated =
        emit(graph_, OpKind::adamw, operands,
             {.attributes = attributes, .phase = Phase::Update, .name = named("new")});
    return_flat(moment1, updated[1]);
    return_flat(moment2, updated[2]);
    if (has_master) return_flat(weights, updated[0]);
    publish(has_master ? updated[3] : updated[0]);
    if (options_.ema_decay > 0) {
      const ValueId average = add_flat(FlatRole::Average, accumulator_of(kept_));
      return_flat(average, emit_one(OpKind::moving_average, {average, updated[0]},
                                    {{"decay", options_.ema_decay}}, Phase::Update, "average_new"));
    }
  }

  const BundlePlan& bundle() const { return bundle_; }

 private:
  std::string named(std::string_view what) const {
    return fmt::format("{}.{}", bundle_.bundle.name, what);
  }
  std::string axes_word(const AxisIds& axes) const { return plan_.mesh.word(axes); }

  ValueId emit_one(OpKind op, std::vector<ValueId> operands, Attributes attributes, Phase phase,
                   std::string_view what) {
    return emit(graph_, op, std::move(operands),
                {.attributes = std::move(attributes), .phase = phase, .name = named(what)})
        .front();
  }

  ValueId add_flat(FlatRole role, DType dtype) {
    return tessera::add_flat(graph_, bundle_.bundle, role, dtype);
  }

  ValueId step(const std::string& step_name) {
    if (const GraphInput* known = graph_.find_input(InputKind::Step, step_name))
      return known->value;
    return graph_.add_input({.kind = InputKind::Step, .value = kNone, .state = {}}, step_name,
                            scalar(DType::Fp64));
  }

  void return_flat(ValueId buffer, ValueId next, bool accumulates = false) {
    tessera::return_flat(graph_, buffer, next, accumulates);
  }

  ValueId scattered(ValueId sum, bool async) {
    return emit_one(OpKind::reduce_scatter, {sum},
                    {{"axes", axes_word({plan_.shard_axis})},
                     {"ranks", int64_t{bundle_.bundle.shards}},
                     {"async", int64_t{async}},
                     {"dim", "flat"}},
                    Phase::Reduce, "reduced");
  }

  ValueId summed(ValueId value, const AxisIds& axes, Phase phase, bool async = false) {
    return emit_one(OpKind::all_reduce, {value},
                    {{"axes", axes_word(axes)},
                     {"ranks", int64_t{plan_.mesh.size(axes)}},
                     {"async", int64_t{async}}},
                    phase, "summed");
  }

  ValueId awaited(ValueId buffer, ValueId source, Phase phase) {
    return await_flat(graph_, bundle_.bundle, buffer, source, phase);
  }

  bool in_another_dtype() const {
    return plan_.reduce_dtype && *plan_.reduce_dtype != kept_ && !bundle_.pending.empty();
  }

  // The plan's own dtype travels; what comes back is widened. All within one routine.
  void add_reduction_in(DType dtype, ValueId sum) {
    const auto cast = [&](ValueId value, DType to, std::string_view what) {
      return emit_one(OpKind::accumulate, {value}, {{"dtype", std::string(name(to))}},
                      Phase::Reduce, what);
    };
    AxisIds rest = bundle_.pending;
    sum = cast(sum, dtype, "narrow");
    if (sharded_) {
      std::erase(rest, plan_.shard_axis);
      sum = scattered(sum, false);
    }
    if (!rest.empty()) sum = summed(sum, rest, Phase::Reduce);
    return_flat(gradient_at_rest_, cast(sum, kept_, "widened"), sharded_ && plan_.zero >= 2);
  }

  // Each rank gets the sum of its part. Where that happens once per microbatch the parts add up.
  void add_sharded_reduction(ValueId sum) {
    AxisIds rest = bundle_.pending;
    TESSERA_CHECK(std::erase(rest, plan_.shard_axis) == 1, "{}: its gradient is not pending on {}",
                  bundle_.bundle.name, axes_word({plan_.shard_axis}));
    const bool adds_up = plan_.zero >= 2;
    return_flat(reduced_, scattered(sum, true));
    ValueId there = awaited(reduced_, gradient_, Phase::ReduceWait);
    return_flat(reduced_, there);
    if (!rest.empty()) {
      there = summed(there, rest, Phase::ReduceWait);
      if (!adds_up) return_flat(reduced_, there);
    }
    if (adds_up)
      return_flat(gradient_at_rest_,
                  emit_one(OpKind::accumulate, {there}, {}, Phase::ReduceWait, "kept"), true);
  }

  // The part of the weights that this rank updates. Where they rest whole it is cut out.
  ValueId resting_weights() {
    if (weights_at_rest_ != kNone) return weights_at_rest_;
    return emit_one(OpKind::take_shard, {weights_, shard_},
                    {{"ranks", int64_t{bundle_.bundle.shards}}, {"dim", "flat"}}, Phase::Update,
                    "own");
  }

  void publish(ValueId next) {
    if (weights_at_rest_ != kNone) return return_flat(weights_at_rest_, next);
    return_flat(weights_, all_gathered(graph_, bundle_.bundle, axes_word({plan_.shard_axis}), next,
                                       Phase::Update));
  }

  Graph& graph_;
  const OptimizerOptions& options_;
  const Plan& plan_;
  BundlePlan bundle_;
  DType kept_;  // of gradients, moments and master weights
  bool sharded_;
  ValueId shard_ = kNone, reduced_ = kNone;
  ValueId weights_, gradient_;
  ValueId weights_at_rest_ = kNone, gradient_at_rest_ = kNone;
};

bool returns_gradient(const Graph& graph, std::string_view parameter) {
  return std::any_of(graph.outputs().begin(), graph.outputs().end(),
                     [&](const GraphOutput& output) {
                       return output.kind == OutputKind::Gradient && output.target == parameter;
                     });
}

const Placement& gradient_placement(const Graph& graph, std::string_view parameter) {
  for (const GraphOutput& output : graph.outputs())
    if (output.kind == OutputKind::Gradient && output.target == parameter)
      return graph.value(output.value).placement;
  check_failed("gradient", __FILE__, __LINE__, std::string(parameter));
}

// The owner updates a tied parameter from its own gradient, to which the others add.
void require_owners_gradients(const Module& module) {
  for (const Block& block : module.blocks)
    for (const auto& [parameter, state] : block.ties) {
      const size_t dot = state.rfind('.');
      const Block& owner =
          module.blocks[static_cast<size_t>(module.find_block(state.substr(0, dot)))];
      const Graph &here = module.class_of(block).graph, &there = module.class_of(owner).graph;
      if (!returns_gradient(here, parameter)) continue;
      if (!returns_gradient(there, state.substr(dot + 1)))
        throw user_error("block {} ties {} to {}, which block {} does not train itself", block.name,
                         parameter, state, owner.name)
            .help("let the block that trains it own it, and tie the other");
      if (gradient_placement(here, parameter) != gradient_placement(there, state.substr(dot + 1)))
        throw user_error("block {} gives the gradient of {} on ({}), its owner {} on ({})",
                         block.name, state,
                         to_string(module.mesh, gradient_placement(here, parameter)), owner.name,
                         to_string(module.mesh, gradient_placement(there, state.substr(dot + 1))))
            .help("change the lists of dims in the plan so that both split it alike");
    }
}

PassCounts run(Module& module, const OptimizerOptions& options, const Plan& plan) {
  require_owners_gradients(module);
  // The last stage has the loss; every stage has a share of the norm.
  StepTotals totals = totals_of_forward(module, plan);
  StepTotals norm_total(plan, "norm_total", kEveryStage);
  std::vector<BundleUpdate> updates;
  std::set<int> split;
  int64_t parameters = 0, bundles = 0;
  for (BlockClass& block_class : module.classes)
    for (BundlePlan& bundle : bundle_parameters(block_class, plan)) {
      parameters += static_cast<int64_t>(bundle.bundle.parameters.size());
      ++bundles;
      block_class.bundles.push_back(bundle.bundle);
      updates.emplace_back(block_class.graph, options, plan, std::move(bundle));
      for (const int axis : updates.back().split()) split.insert(axis);
    }
  const AxisIds norm_axes(split.begin(), split.end());
  for (BundleUpdate& update : updates) update.add_gather();
  for (BundleUpdate& update : updates) update.add_reduction();
  for (BundleUpdate& update : updates) update.add_join();
  for (BundleUpdate& update : updates) update.add_norm(norm_axes);
  for (BundleUpdate& update : updates) update.add_update();
  AxisIds all_axes = norm_axes;
  if (plan.pipeline_axis >= 0) all_axes.push_back(plan.pipeline_axis);
  std::sort(all_axes.begin(), all_axes.end());
  norm_total.add("norm_squares", all_axes, Phase::NormReduce);
  totals.append_to(module);
  norm_total.append_to(module);
  return {{"parameters", parameters}, {"bundles", bundles}};
}

}  // namespace

Pass build_update(OptimizerOptions options, Plan plan) {
  return {.name = "build_update",
          .summary = "bundles parameters and adds their gather, reduction, norm and AdamW",
          .requires_form = Form::Local,
          .ensures_form = Form::Local,
          .run = [options, plan = std::move(plan)](Module& module) {
            return run(module, options, plan);
          }};
}

}  // namespace tessera
