// SPDX-License-Identifier: Apache-2.0
// ZeRO: with level 1 a rank updates its shard of the weights, with 2 it keeps its shard of the
// gradients alone, with 3 also of the weights. Weights that rest on the host are a shard, too.
// Frozen weights have nothing beside them: where they are no shard, each has a buffer of its own.
#include "passes/gradient/shard_states.h"

#include "ir/emit.h"
#include "ir/op_list.h"
#include "ir/rank_index.h"
#include "passes/gradient/bundle_flats.h"
#include "passes/gradient/bundle_parameters.h"

namespace tessera {
namespace {

// Nodes on the flat buffers of one bundle.
class BundleShards {
 public:
  BundleShards(Graph& graph, const Plan& plan, BundlePlan bundle)
      : graph_(graph),
        plan_(plan),
        bundle_(std::move(bundle)),
        sharded_(bundle_.bundle.shards > 1),
        weights_(add_flat(FlatRole::Weights, bundle_.dtype)),
        gradient_(add_flat(FlatRole::Gradient, bundle_.kept)) {
    if (sharded_) {
      rank_index(graph_, rest_axes());
      reduced_ = add_flat(FlatRole::Reduced, bundle_.kept);
    }
    // Where other bundles of the block are reduced for every microbatch, all that are summed are.
    if (plan_.zero >= 2 && (sharded_ || !bundle_.pending.empty()))
      gradient_shard_ = add_flat(FlatRole::GradientShard, bundle_.kept);
    if ((sharded_ && plan_.zero == 3) || plan_.offload.states == OffloadedStates::Parameters)
      weights_shard_ = add_flat(FlatRole::WeightsShard, bundle_.dtype);
  }

  void add_gather() {
    if (weights_shard_ != kNone)
      gather_bundle(graph_, bundle_.bundle, rest_axes(), weights_shard_, weights_);
  }

  // Starts in the phase Reduce, is waited for in Settle. The padding is cleared first: sums over
  // the flat buffer count it.
  void add_reduction() {
    ValueId sum = gradient_;
    if (const std::string gaps = bundle_.gaps(); gaps != "none") {
      sum = emit_one(OpKind::clear_gaps, {sum}, {{"gaps", gaps}}, Phase::Reduce, "clean");
      return_flat(graph_, gradient_, sum);
    }
    if (in_another_dtype()) {
      add_reduction_in(*plan_.reduce_dtype, sum);
    } else if (sharded_) {
      add_sharded_reduction(sum);
    } else if (!bundle_.pending.empty()) {
      return_flat(graph_, gradient_, summed(sum, bundle_.pending, Phase::Reduce, true));
      const ValueId there = await(gradient_, kNone);
      return_flat(graph_, gradient_, there);
      if (gradient_shard_ != kNone) keep(there);
    }
  }

 private:
  std::string rest_axes() const { return plan_.mesh.word(bundle_.bundle.rest); }

  ValueId emit_one(OpKind op, std::vector<ValueId> operands, Attributes attributes, Phase phase,
                   std::string_view what) {
    return emit_for_bundle(graph_, bundle_.bundle, op, std::move(operands), std::move(attributes),
                           phase, what);
  }

  ValueId add_flat(FlatRole role, DType dtype) {
    return tessera::add_flat(graph_, {.bundle = bundle_.bundle.name, .role = role}, bundle_.bundle,
                             dtype);
  }

  ValueId await(ValueId buffer, ValueId source) {
    return await_flat(graph_, bundle_.bundle, buffer, source, Phase::ReduceWait);
  }

  ValueId scattered(ValueId sum, bool async) {
    return emit_one(OpKind::reduce_scatter, {sum},
                    {{"axes", rest_axes()},
                     {"ranks", int64_t{bundle_.bundle.shards}},
                     {"async", int64_t{async}},
                     {"dim", "flat"}},
                    Phase::Reduce, "reduced");
  }

  ValueId summed(ValueId value, const AxisIds& axes, Phase phase, bool async = false) {
    return emit_one(OpKind::all_reduce, {value},
                    {{"axes", plan_.mesh.word(axes)},
                     {"ranks", int64_t{plan_.mesh.size(axes)}},
                     {"async", int64_t{async}}},
                    phase, "summed");
  }

  bool in_another_dtype() const {
    return plan_.reduce_dtype && *plan_.reduce_dtype != bundle_.kept && !bundle_.pending.empty();
  }

  // The axes over which the gradient is still to be summed after it is scattered.
  AxisIds pending_after_scatter() const {
    AxisIds rest = bundle_.pending;
    for (const int axis : bundle_.bundle.rest)
      TESSERA_CHECK(std::erase(rest, axis) == 1, "{}: its gradient is not pending on {}",
                    bundle_.bundle.name, plan_.mesh.word({axis}));
    return rest;
  }

  // The plan's own dtype travels; what comes back is widened. All within one routine.
  void add_reduction_in(DType dtype, ValueId sum) {
    const auto cast = [&](ValueId value, DType to, std::string_view what) {
      return emit_one(OpKind::accumulate, {value}, {{"dtype", std::string(name(to))}},
                      Phase::Reduce, what);
    };
    sum = cast(sum, dtype, "narrow");
    if (sharded_) sum = scattered(sum, false);
    const AxisIds rest = sharded_ ? pending_after_scatter() : bundle_.pending;
    if (!rest.empty()) sum = summed(sum, rest, Phase::Reduce);
    const ValueId at_rest = gradient_shard_ != kNone ? gradient_shard_
                            : sharded_               ? reduced_
                                                     : gradient_;
    return_flat(graph_, at_rest, cast(sum, bundle_.kept, "widened"), gradient_shard_ != kNone);
  }

  // Each rank gets the sum of its part. Where that happens once per microbatch the parts add up.
  void add_sharded_reduction(ValueId sum) {
    const AxisIds rest = pending_after_scatter();
    const bool adds_up = gradient_shard_ != kNone;
    return_flat(graph_, reduced_, scattered(sum, true));
    ValueId there = await(reduced_, gradient_);
    return_flat(graph_, reduced_, there);
    if (!rest.empty()) {
      there = summed(there, rest, Phase::ReduceWait);
      if (!adds_up) return_flat(graph_, reduced_, there);
    }
    if (adds_up) keep(there);
  }

  void keep(ValueId sum) {
    return_flat(graph_, gradient_shard_,
                emit_one(OpKind::accumulate, {sum}, {}, Phase::ReduceWait, "kept"), true);
  }

  Graph& graph_;
  const Plan& plan_;
  BundlePlan bundle_;
  bool sharded_;
  ValueId weights_, gradient_;
  ValueId reduced_ = kNone, gradient_shard_ = kNone, weights_shard_ = kNone;
};

// Gathers of frozen weights, which rest in shards or on the host.
int64_t gather_frozen(BlockClass& block_class, const Plan& plan) {
  const bool on_host = plan.offload.states == OffloadedStates::Parameters;
  if (plan.zero < 3 && !on_host) return 0;
  int64_t bundles = 0;
  for (const BundlePlan& found : bundle_frozen(block_class, plan)) {
    if (found.bundle.rest.empty() && !on_host) continue;
    gather_at_rest(block_class, found.bundle, found.dtype, plan.mesh.word(found.bundle.rest));
    ++bundles;
  }
  return bundles;
}

PassCounts run(Module& module, const Plan& plan) {
  std::vector<BundleShards> bundles;
  int64_t parameters = 0;
  for (BlockClass& block_class : module.classes)
    for (BundlePlan& bundle : bundle_parameters(block_class, plan)) {
      parameters += static_cast<int64_t>(bundle.bundle.parameters.size());
      block_class.bundles.push_back(bundle.bundle);
      bundles.emplace_back(block_class.graph, plan, std::move(bundle));
    }
  for (BundleShards& bundle : bundles) bundle.add_gather();
  for (BundleShards& bundle : bundles) bundle.add_reduction();
  int64_t frozen = 0;
  for (BlockClass& block_class : module.classes) frozen += gather_frozen(block_class, plan);
  return {{"parameters", parameters}, {"bundles", std::ssize(bundles)}, {"frozen bundles", frozen}};
}

}  // namespace

Pass shard_states(Plan plan) {
  return {.name = "shard_states",
          .summary = "bundles parameters; gathers weights before their use, reduces gradients",
          .requires_form = Form::Local,
          .ensures_form = Form::Local,
          .run = [plan = std::move(plan)](Module& module) { return run(module, plan); }};
}

}  // namespace tessera
