// SPDX-License-Identifier: Apache-2.0
#include "planner/divisible.h"

#include <array>
#include <numeric>

#include "core/error.h"
#include "schedule/schedule_kinds.h"

namespace tessera {
namespace {

constexpr int64_t kLeastTokens = 1024;  // of one rank of a split sequence
constexpr int64_t kMostMicrobatches = 1024;

using Reason = std::optional<std::string>;

Reason why_not_tensor(const PlanTask& task, const Candidate& candidate) {
  const ModelConfig& model = task.run.model;
  const int tp = candidate.tp(), node = task.cluster.levels.front().ranks;
  if (tp > node)
    return fmt::format("tp ({}) leaves the {} of {} ranks", tp, task.cluster.levels.front().name,
                       node);
  if ((!model.has_experts() || model.dense_layers > 0) && model.mlp_size % tp != 0)
    return fmt::format("tp ({}) does not divide mlp ({})", tp, model.mlp_size);
  if (!model.has_sequence()) return {};
  const int64_t shared = std::gcd<int64_t>(tp, model.kv_heads);
  if (model.heads / model.kv_heads % (tp / shared) != 0)
    return fmt::format("tp ({}) does not divide heads ({}, kv_heads {})", tp, model.heads,
                       model.kv_heads);
  if (model.vocabulary % tp != 0)
    return fmt::format("tp ({}) does not divide the vocabulary ({})", tp, model.vocabulary);
  return {};
}

Reason why_not_context(const PlanTask& task, const Candidate& candidate) {
  const int cp = candidate.cp(), tp = candidate.tp();
  if (!task.run.model.has_sequence() && cp > 1)
    return fmt::format("cp splits the sequence, and family {} has none",
                       name(task.run.model.family));
  if (!task.run.model.has_sequence()) return {};
  if (task.run.seq() % (cp * tp) != 0)
    return fmt::format("cp x tp ({}) does not divide seq ({})", cp * tp, task.run.seq());
  if (cp == 1) return {};
  if (task.run.seq() / cp < kLeastTokens)
    return fmt::format("cp ({}) leaves {} tokens of {} to a rank, under {}", cp,
                       task.run.seq() / cp, task.run.seq(), kLeastTokens);
  if (candidate.context == ContextKind::Ring && task.run.seq() % (2 * cp * tp) != 0)
    return fmt::format("2 x cp x tp ({}) does not divide seq ({})", 2 * cp * tp, task.run.seq());
  const int64_t left = task.run.model.kv_heads / std::gcd<int64_t>(tp, task.run.model.kv_heads);
  if (candidate.context == ContextKind::Ulysses && left % cp != 0)
    return fmt::format("cp ({}) does not divide the kv_heads that tp leaves ({}), as ulysses must",
                       cp, left);
  return {};
}

Reason why_not_experts(const PlanTask& task, const Candidate& candidate) {
  const ModelConfig& model = task.run.model;
  if (!model.has_experts() && candidate.dispatch == DispatchKind::Exchange)
    return "dispatch = exchange, but the model has no experts";
  if (!model.has_experts()) return {};
  const int64_t ranks = candidate.expert_ranks();
  std::string names;
  bool tensor = true;  // tp splits each expert
  for (const std::string& name : parse_axis_list(candidate.experts)) {
    const AxisKind axis = find_axis(name)->axis;
    names += fmt::format("{}{}", names.empty() ? "" : " x ", name);
    if (axis == AxisKind::Tp) tensor = false;
  }
  if (model.experts % ranks != 0)
    return fmt::format("{} ({}) does not divide experts ({})", names, ranks, model.experts);
  if (candidate.dispatch == DispatchKind::Exchange && ranks == 1)
    return fmt::format("dispatch = exchange, but {} ({}) leaves every expert on every rank", names,
                       ranks);
  if (tensor && model.expert_mlp_size % candidate.tp() != 0)
    return fmt::format("tp ({}) does not divide expert_mlp ({})", candidate.tp(),
                       model.expert_mlp_size);
  if (model.shared_mlp_size % candidate.tp() != 0)
    return fmt::format("tp ({}) does not divide shared_mlp ({})", candidate.tp(),
                       model.shared_mlp_size);
  return {};
}

Reason why_not_pipeline(const PlanTask& task, const Candidate& candidate) {
  const int64_t blocks = task.run.model.layers + 2,
                stages = int64_t{candidate.pp()} * candidate.chunks;
  if (stages > blocks)
    return fmt::format("pp x chunks ({}) exceeds the model's {} blocks (embedding, layers, head)",
                       stages, blocks);
  const int64_t microbatches = candidate.microbatches(task.run.batch());
  if (candidate.pp() > 1 && microbatches < candidate.pp())
    return fmt::format("{} microbatches do not fill a pipeline of {} stages", microbatches,
                       candidate.pp());
  const ScheduleKind& kind = schedule_kind(candidate.schedule);
  if (kind.microbatches == MicrobatchRule::MultipleOfRanks && microbatches % candidate.pp() != 0)
    return fmt::format("{} needs a multiple of pp ({}) microbatches, not {}", kind.name,
                       candidate.pp(), microbatches);
  if (kind.microbatches == MicrobatchRule::TwiceTheRanks && microbatches < 2 * candidate.pp() - 1)
    return fmt::format("{} needs at least 2 pp - 1 = {} microbatches, not {}", kind.name,
                       2 * candidate.pp() - 1, microbatches);
  return {};
}

Reason why_not_batch(const PlanTask& task, const Candidate& candidate) {
  if (task.run.batch() % candidate.samples() != 0) {
    std::string names = "microbatch", sizes = fmt::format("{}", candidate.microbatch);
    for (const AxisRow& row : kAxes)
      if (row.splits_data && candidate.axes[row.axis] > 1) {
        names += fmt::format(" x {}", row.name);
        sizes += fmt::format(" x {}", candidate.axes[row.axis]);
      }
    return fmt::format("{} ({} = {}) does not divide the batch ({})", names, sizes,
                       candidate.samples(), task.run.batch());
  }
  if (candidate.microbatches(task.run.batch()) > kMostMicrobatches)
    return fmt::format("{} microbatches: above {} nothing is gained",
                       candidate.microbatches(task.run.batch()), kMostMicrobatches);
  return {};
}

Reason why_not_ranks(const PlanTask& task, const Candidate& candidate) {
  if (candidate.axes.ranks() == task.ranks) return {};
  return fmt::format("mesh {} has {} ranks, not {}", to_string(Mesh(candidate.axes.above_one())),
                     candidate.axes.ranks(), task.ranks);
}

Reason why_not_zero(const PlanTask&, const Candidate& candidate) {
  if (candidate.shards_over_cp && (candidate.cp() == 1 || candidate.zero == 0))
    return fmt::format("shard_axes = {} with cp = {} and zero = {}: there is nothing to shard",
                       shard_axes_text(candidate, '+'), candidate.cp(), candidate.zero);
  const AxisRow* axis = candidate.axes.sharding_axis();
  if (candidate.zero == 0 && axis)
    return fmt::format("{} ({}) shards states, and zero = 0 keeps them whole", axis->name,
                       candidate.axes[axis->axis]);
  if (candidate.zero > 0 && candidate.axes.ranks() > 1 && candidate.state_shards() == 1)
    return fmt::format("zero = {} shards states over dp, fsdp or ep, and there is none of them",
                       candidate.zero);
  return {};
}

Reason why_not_offload(const PlanTask& task, const Candidate& candidate) {
  if (candidate.offload_states == OffloadedStates::None && !candidate.offload_activations &&
      !candidate.offload_gradients)
    return {};
  if (task.cluster.device.cores == 0 && !task.cluster.host)
    return fmt::format("cluster {} has no [host], whose link offload needs", task.cluster.name);
  if (candidate.offload_states == OffloadedStates::Parameters && candidate.zero < 3 &&
      candidate.zero > 0)
    return fmt::format("offload = parameters needs zero = 3, not {}", candidate.zero);
  if (candidate.offload_activations && candidate.recompute == RecomputeKind::Blocks)
    return "offload = activations, but recompute leaves none";
  return {};
}

struct Test {
  Obstacle obstacle;
  Reason (*why)(const PlanTask&, const Candidate&);
  std::string_view name, summary;
};
constexpr auto kTests = std::to_array<Test>({
    {Obstacle::Ranks, why_not_ranks, "ranks", "the axes' product is not the number of ranks"},
    {Obstacle::Zero, why_not_zero, "zero", "fsdp without zero, or zero without fsdp, dp and ep"},
    {Obstacle::Tensor, why_not_tensor, "tp",
     "tp does not divide heads, mlp or vocabulary, or leaves a node"},
    {Obstacle::Context, why_not_context, "cp",
     "cp does not divide seq or heads, or leaves a rank too few tokens"},
    {Obstacle::Experts, why_not_experts, "ep", "ep does not divide experts, or tp their mlp"},
    {Obstacle::Batch, why_not_batch, "batch",
     "replicas and microbatch do not divide the batch, or leave too many microbatches"},
    {Obstacle::Pipeline, why_not_pipeline, "pp",
     "more stages than blocks, or too few microbatches for the schedule"},
    {Obstacle::Offload, why_not_offload, "offload",
     "offload without a host, or of what the device keeps whole"},
});

}  // namespace

std::string_view name(Obstacle obstacle) { return kTests[static_cast<size_t>(obstacle)].name; }

std::string_view summary(Obstacle obstacle) {
  return kTests[static_cast<size_t>(obstacle)].summary;
}

std::optional<Indivisible> why_not_divisible(const PlanTask& task, const Candidate& candidate) {
  for (const Test& test : kTests)
    if (Reason reason = test.why(task, candidate)) return Indivisible{test.obstacle, *reason};
  return {};
}

std::optional<Indivisible> why_not_shape(const PlanTask& task, const Candidate& candidate) {
  for (const Test& test : kTests)
    if (test.obstacle == Obstacle::Tensor || test.obstacle == Obstacle::Context ||
        test.obstacle == Obstacle::Experts)
      if (Reason reason = test.why(task, candidate)) return Indivisible{test.obstacle, *reason};
  return {};
}

}  // namespace tessera
