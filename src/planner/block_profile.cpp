// SPDX-License-Identifier: Apache-2.0
#include "planner/block_profile.h"

#include <algorithm>

#include "compiler/flat_uses.h"
#include "config/compile_step.h"
#include "schedule/schedule_kinds.h"
#include "sim/instruction_times.h"

namespace tessera {
namespace {

constexpr int kFewLayers = 2;

Compiled compile_few_layers(const PlanTask& task, const Candidate& few, int values) {
  PlanTask small = task;
  RunSpec& run = small.run;
  run.model.layers = std::min<int64_t>(run.model.layers, std::max(kFewLayers, few.pp()));
  run.model.dense_layers = std::min(run.model.dense_layers, run.model.layers - 1);
  run.microbatch.batch = few.samples();
  run.microbatches = few.pp();
  RunSpec spec = small.with(few);
  spec.memory_bytes = 0;
  if (few.recompute == RecomputeKind::Fit)
    spec.plan.recompute = {.kind = RecomputeKind::Values, .values = values};
  return compile(spec, {.check = false});
}

bool in_forward_or_backward(Phase phase) {
  return side(phase) != StepSide::Neither && phase != Phase::Evaluate;
}

int64_t scratch_of(const Graph& graph) {
  int64_t bytes = 0;
  for (const Node& node : graph.nodes()) {
    if (!in_forward_or_backward(node.phase)) continue;
    bytes = std::max(bytes, node.workspace.offset + node.workspace.bytes);
    for (const ValueId result : node.results)
      if (const Location& at = graph.value(result).location; at.lifetime == Lifetime::Scratch)
        bytes = std::max(bytes, at.offset + at.bytes);
  }
  return bytes;
}

void add_bytes(const BlockClass& block_class, BlockProfile& profile) {
  const Graph& graph = block_class.graph;
  profile.kept_bytes = block_class.slot_bytes;
  if (const GraphOutput* stream = graph.find_output(OutputKind::Stream))
    profile.returned_bytes = align_up(graph.value(stream->value).type.bytes());
  for (const GraphInput& input : graph.inputs()) {
    const int64_t bytes = graph.value(input.value).type.bytes();
    if (input.kind == InputKind::Stream) profile.stream_bytes = bytes;
    // Frozen weights that are in no shard are in no flat buffer.
    if (input.state && input.state->frozen && !input.state->tied &&
        !find_bundle(block_class, graph.value(input.value).name))
      profile.weight_bytes += bytes;
    if (!input.flat) continue;
    const FlatRole role = input.flat->role;
    if (role == FlatRole::Weights)
      profile.weight_bytes += bytes;
    else if (role == FlatRole::Gradient || role == FlatRole::Load)
      profile.gradient_bytes += bytes;
    else if (role == FlatRole::Slot)
      profile.moment_bytes += bytes;
    else if (role != FlatRole::Reduced && role != FlatRole::GradientAtRest)
      profile.master_bytes += bytes;
  }
}

// Calls `visit` with the program and the number of one block of every class.
template <typename Visit>
void for_each_class(const std::vector<Program>& programs, Visit&& visit) {
  std::map<std::string, bool> seen;
  for (const Program& program : programs)
    for (int block = 0; block < static_cast<int>(program.blocks.size()); ++block)
      if (const std::string& name =
              program.class_of(program.blocks[static_cast<size_t>(block)]).name;
          !std::exchange(seen[name], true))
        visit(name, program, block);
}

}  // namespace

bool splits_backward(const Candidate& candidate) {
  return candidate.pp() > 1 && schedule_kind(candidate.schedule).splits_backward;
}

// Where ranks share cores their number counts.
Candidate shape_of(const PlanTask& task, const Candidate& candidate) {
  const bool shared = task.cluster.device.cores > 0, split = splits_backward(candidate);
  Candidate few{.axes = {{AxisKind::Pp, !split   ? 1
                                        : shared ? candidate.pp()
                                                 : kFewLayers},
                         {AxisKind::Ep, task.run.model.has_experts() ? candidate.ep() : 1},
                         {AxisKind::Cp, candidate.cp()},
                         {AxisKind::Tp, candidate.tp()}},
                .microbatch = candidate.microbatch,
                .recompute = candidate.recompute,
                .schedule = split ? "zb_h1" : "1f1b",
                .context = candidate.context,
                .experts = candidate.experts,
                .dispatch = candidate.dispatch,
                .tp_overlap = candidate.tp_overlap,
                .offload_activations = candidate.offload_activations,
                .fp8 = candidate.fp8};
  if (shared) few.axes[AxisKind::Dp] = task.ranks / few.axes.ranks();
  return few;
}

Candidate states_of(const PlanTask& task, const Candidate& candidate) {
  Candidate few{.axes = candidate.axes,
                .zero = candidate.zero,
                .context = candidate.context,
                .experts = candidate.experts,
                .dispatch = candidate.dispatch,
                .shards_over_cp = candidate.shards_over_cp,
                .offload_states = candidate.offload_states,
                .offload_gradients = candidate.offload_gradients,
                .updates_on_host = candidate.updates_on_host,
                .fp8 = candidate.fp8};
  few.axes[AxisKind::Pp] = 1;
  if (task.cluster.device.cores > 0) few.axes[AxisKind::Dp] *= candidate.pp();
  return few;
}

ShapeProfile profile_shape(const PlanTask& task, const Candidate& shape, int values) {
  const Compiled compiled = compile_few_layers(task, shape, values);
  ShapeProfile profile;
  profile.rebuilt_values = rebuilt_values(compiled);
  for (const BlockClass& block_class : compiled.module.classes) {
    add_bytes(block_class, profile.blocks[block_class.name]);
    profile.scratch_bytes = std::max(profile.scratch_bytes, scratch_of(block_class.graph));
  }
  for_each_class(compiled.programs, [&](const auto& name, const Program& program, int block) {
    const auto seconds = [&](RoutineKind routine) {
      return routine_seconds(program, task.cluster, block, routine).alone;
    };
    BlockProfile& own = profile.blocks.at(name);
    own.forward = seconds(RoutineKind::Forward);
    own.rebuild = seconds(RoutineKind::Recompute);
    own.input_grad = own.rebuild + seconds(RoutineKind::Backward) + seconds(RoutineKind::InputGrad);
    own.weight_grad = seconds(RoutineKind::WeightGrad);
    own.away =
        routine_seconds(program, task.cluster, block, RoutineKind::ActivationsOut).left_under_way;
  });
  return profile;
}

ByClass<StateProfile> profile_states(const PlanTask& task, const Candidate& states) {
  const Compiled compiled = compile_few_layers(task, states, 0);
  ByClass<StateProfile> profiles;
  std::map<std::string, bool> comes_and_goes;
  for (const BlockClass& block_class : compiled.module.classes)
    comes_and_goes[block_class.name] = reduces_every_microbatch(block_class);
  for_each_class(compiled.programs, [&](const auto& name, const Program& program, int block) {
    const auto seconds = [&](RoutineKind routine) {
      return routine_seconds(program, task.cluster, block, routine);
    };
    const RoutineSeconds reduce = seconds(RoutineKind::Reduce);
    profiles[name] = {
        .reduce = reduce.alone,
        .travel = reduce.left_under_way,
        .reduce_wait = seconds(RoutineKind::ReduceWait).alone,
        .comes_and_goes = comes_and_goes.at(name),
        .gather = seconds(RoutineKind::Gather).left_under_way,
        .update = seconds(RoutineKind::Norm).alone + seconds(RoutineKind::Update).alone,
        .from_host = seconds(RoutineKind::StatesIn).left_under_way,
        .to_host = seconds(RoutineKind::StatesOut).left_under_way};
  });
  return profiles;
}

}  // namespace tessera
