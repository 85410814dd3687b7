// SPDX-License-Identifier: Apache-2.0
// The update is built from the optimizer's row alone. A parameter's block owns its slots and, below
// fp32, its fp32 master copy; a tied parameter is updated by its owner alone. Every element is
// updated once per place where it rests.
#include "passes/gradient/update_parameters.h"

#include "ir/emit.h"
#include "ir/op_list.h"
#include "ir/rank_index.h"
#include "passes/gradient/bundle_flats.h"
#include "passes/gradient/bundle_parameters.h"
#include "passes/gradient/count_loads.h"
#include "passes/gradient/orthogonal_direction.h"

namespace tessera {
namespace {

ValueId step_value(Graph& graph, const std::string& name) {
  if (const GraphInput* known = graph.find_input(InputKind::Step, name)) return known->value;
  return graph.add_input({.kind = InputKind::Step, .value = kNone, .state = {}}, name,
                         scalar(DType::Fp64));
}

class BundleUpdate {
 public:
  BundleUpdate(BlockClass& block_class, const OptimizerOptions& options, const Plan& plan,
               const BundlePlan& bundle)
      : block_class_(block_class),
        graph_(block_class.graph),
        options_(options),
        optimizer_(bundle.optimizer.empty() ? optimizers().front()
                                            : *find_optimizer(bundle.optimizer)),
        plan_(plan),
        axes_(plan.mesh.word(bundle.bundle.rest)),
        bundle_(bundle),
        has_master_(bundle.kept != bundle.dtype) {}

  void add() {
    std::vector<ValueId> slots;
    for (const CompanionState& slot : optimizer_.slots)
      slots.push_back(add_flat(FlatRole::Slot, slot));
    const ValueId weights = has_master_ ? add_flat(FlatRole::Master, kMaster) : own_weights();
    ValueId gradient = gradient_at_rest(block_class_, bundle_.bundle);
    if (optimizer_.takes_matrices()) {
      gradient = orthogonal_direction(block_class_, plan_, bundle_, options_, settings(),
                                      {.gradient = gradient,
                                       .momentum = slots.front(),
                                       .step = step_value(graph_, "step"),
                                       .norm_squares = step_value(graph_, "norm_squares")});
      slots.clear();
    }
    const std::vector<ValueId> updated =
        emit(graph_, optimizer_.op, operands(weights, gradient, slots),
             {.attributes = attributes(),
              .phase = Phase::Update,
              .name = fmt::format("{}.new", bundle_.bundle.name)});
    for (size_t i = 0; i < slots.size(); ++i) return_flat(graph_, slots[i], updated[1 + i]);
    if (has_master_) return_flat(graph_, weights, updated.front());
    publish(has_master_ ? updated.back() : updated.front());
    if (options_.ema_decay > 0) add_average(updated.front());
  }

 private:
  bool sharded() const { return bundle_.bundle.shards > 1; }
  ValueId shard_index() { return rank_index(graph_, axes_); }

  ValueId add_flat(FlatRole role, const CompanionState& state) {
    FlatSpec flat{.bundle = bundle_.bundle.name, .role = role};
    if (role == FlatRole::Slot) flat.slot = state.name;
    return tessera::add_flat(graph_, std::move(flat), bundle_.bundle, state.dtype(bundle_.kept));
  }

  std::vector<ValueId> operands(ValueId weights, ValueId gradient,
                                const std::vector<ValueId>& slots) {
    std::vector<ValueId> all{weights, gradient};
    all.insert(all.end(), slots.begin(), slots.end());
    for (const char* name : {"learning_rate", "step", "norm_squares"})
      all.push_back(step_value(graph_, name));
    if (sharded()) all.push_back(shard_index());
    return all;
  }

  // Those of the run are of its own optimizer and of what that leaves to another one.
  OptimizerSettings settings() const {
    const OptimizerDef& runs = *find_optimizer(options_.op);
    const bool of_run = optimizer_.op == runs.op || optimizer_.op == runs.for_others;
    OptimizerSettings all;
    for (const OptimizerSetting& setting : optimizer_.settings) {
      const auto given = options_.settings.find(setting.name);
      all.emplace(setting.name,
                  of_run && given != options_.settings.end() ? given->second : setting.fallback);
    }
    return all;
  }

  Attributes attributes() const {
    Attributes all;
    if (!optimizer_.takes_matrices())
      for (const auto& [name, value] : settings()) all.set(name, value);
    all.set("rate_factor", options_.learning_rate_factor_of(bundle_.group));
    all.set("weight_decay", bundle_.decayed > 0 ? options_.weight_decay_of(bundle_.group) : 0.0);
    all.set("decayed", bundle_.decayed);
    // The direction of a matrix is of a clipped gradient.
    all.set("clip_norm", optimizer_.takes_matrices() ? 0.0 : options_.clip_norm);
    all.set("copy_dtype", has_master_ ? std::string(name(bundle_.dtype)) : "none");
    all.set("seed", options_.rounding_seed);
    return all;
  }

  // Where the weights that this rank updates are on their own; kNone: inside the whole ones.
  ValueId weights_at_rest() const {
    const ValueId shard = find_value(block_class_, bundle_.bundle, FlatRole::WeightsShard);
    if (shard != kNone || sharded()) return shard;
    return find_value(block_class_, bundle_.bundle, FlatRole::Weights);
  }

  ValueId own_weights() {
    if (const ValueId at_rest = weights_at_rest(); at_rest != kNone) return at_rest;
    return emit_for_bundle(
        graph_, bundle_.bundle, OpKind::take_shard,
        {find_value(block_class_, bundle_.bundle, FlatRole::Weights), shard_index()},
        {{"ranks", int64_t{bundle_.bundle.shards}}, {"dim", "flat"}}, Phase::Update, "own");
  }

  void publish(ValueId next) {
    if (const ValueId at_rest = weights_at_rest(); at_rest != kNone)
      return return_flat(graph_, at_rest, next);
    return_flat(graph_, find_value(block_class_, bundle_.bundle, FlatRole::Weights),
                all_gathered(graph_, bundle_.bundle, axes_, next, Phase::Update));
  }

  void add_average(ValueId weights) {
    const ValueId average = add_flat(FlatRole::Average, kAverage);
    return_flat(graph_, average,
                emit_for_bundle(graph_, bundle_.bundle, OpKind::moving_average,
                                {average, weights, step_value(graph_, "norm_squares")},
                                {{"decay", options_.ema_decay}}, Phase::Update, "average_new"));
  }

  BlockClass& block_class_;
  Graph& graph_;
  const OptimizerOptions& options_;
  const OptimizerDef& optimizer_;
  const Plan& plan_;
  std::string axes_;  // that shards are cut along
  const BundlePlan& bundle_;
  bool has_master_;
};

// Routers' biases follow the loads of their experts, and no gradient.
int64_t balance_routers(BlockClass& block_class) {
  Graph& graph = block_class.graph;
  int64_t updates = 0;
  const std::vector<GraphInput> inputs = graph.inputs();
  for (const GraphInput& input : inputs) {
    if (!input.state || input.state->balance_rate == 0) continue;
    const std::string bias = graph.value(input.value).name;
    const ValueId load = find_load(block_class, bias);
    TESSERA_CHECK(load != kNone, "class {}: no router reads {}", block_class.name, bias);
    const ValueId moved =
        emit(graph, OpKind::balance_bias, {input.value, load, step_value(graph, "norm_squares")},
             {.attributes = {{"rate", input.state->balance_rate}},
              .phase = Phase::Update,
              .name = bias + ".new"})
            .front();
    graph.add_output({.kind = OutputKind::State, .value = moved, .target = bias});
    ++updates;
  }
  return updates;
}

// Without group_parameters all parameters would be moved by the first optimizer.
void require_groups(const Module& module, const OptimizerOptions& options) {
  if (options.op == optimizers().front().op && options.groups.empty()) return;
  for (const BlockClass& block_class : module.classes)
    for (const GraphInput& input : block_class.graph.inputs())
      if (input.state &&
          (!input.state->optimizer.empty() || input.state->group > 0 || input.state->frozen))
        return;
  throw user_error("pass group_parameters is left out, but not all parameters are moved by {}",
                   name(optimizers().front().op))
      .help("leave --disable-pass out, or train.optimizer and train.group");
}

PassCounts run(Module& module, const OptimizerOptions& options, const Plan& plan) {
  require_groups(module, options);
  int64_t updates = 0;
  for (BlockClass& block_class : module.classes) {
    for (const BundlePlan& bundle : bundle_parameters(block_class, plan)) {
      BundleUpdate(block_class, options, plan, bundle).add();
      ++updates;
    }
    updates += balance_routers(block_class);
  }
  return {{"updates", updates}};
}

}  // namespace

Pass update_parameters(OptimizerOptions options, Plan plan) {
  return {.name = "update_parameters",
          .summary = "adds the optimizer's update of each bundle, with its slots",
          .requires_form = Form::Local,
          .ensures_form = Form::Local,
          .run = [options = std::move(options), plan = std::move(plan)](Module& module) {
            return run(module, options, plan);
          }};
}

}  // namespace tessera
