// SPDX-License-Identifier: Apache-2.0
#include "planner/enumerate.h"

#include <algorithm>

#include "schedule/schedule_kinds.h"

namespace tessera {
namespace {

constexpr int64_t kLargestMicrobatch = 16;

std::vector<int> divisors(int number) {
  std::vector<int> found;
  for (int d = 1; d <= number; ++d)
    if (number % d == 0) found.push_back(d);
  return found;
}

struct ScheduleChoice {
  std::string_view kind;
  int chunks;
};

std::vector<ScheduleChoice> schedules_of(int pp, const std::string& fixed) {
  if (pp == 1) return {{"1f1b", 1}};
  std::vector<ScheduleChoice> choices;
  for (const ScheduleKind& kind : schedule_kinds()) {
    if (fixed.empty() ? !kind.planned : kind.name != schedule_kind(fixed).name) continue;
    if (kind.most_chunks > 0)
      choices.push_back({kind.name, kind.most_chunks});
    else
      for (const int chunks : {2, 4, 8}) choices.push_back({kind.name, chunks});
  }
  return choices;
}

struct Enumerator {
  const PlanTask& task;
  const std::function<bool()>& cancelled;
  Enumeration result = {};

  void consider(const Candidate& candidate) {
    if (!is_asked_for(task, candidate)) return;
    if (const auto why = why_not_divisible(task, candidate))
      ++result.dropped[why->obstacle];
    else
      result.possible.push_back(candidate);
  }

  void recompute_of(Candidate candidate) {
    if (const auto& fixed = task.fixed.recompute) {
      candidate.recompute = fixed->kind;
      candidate.every = fixed->every;
      return consider(candidate);
    }
    for (const RecomputeKind kind :
         {RecomputeKind::None, RecomputeKind::Attention, RecomputeKind::Blocks}) {
      candidate.recompute = kind;
      consider(candidate);
    }
  }

  std::vector<int64_t> microbatch_sizes(const Candidate& candidate) const {
    if (const auto& fixed = task.fixed.microbatches)
      return {std::max<int64_t>(1, task.run.batch() / (*fixed * candidate.axes.data_ranks()))};
    std::vector<int64_t> sizes;
    for (int64_t size = 1; size <= kLargestMicrobatch; size *= 2) sizes.push_back(size);
    return sizes;
  }

  void knobs_of_mesh(Candidate candidate) {
    // Over dp alone states would be sharded as over fsdp, which is another candidate.
    const bool sharded =
        candidate.fsdp() > 1 || (candidate.ep() > 1 && candidate.axes[AxisKind::Dp] == 1);
    const int least_zero = candidate.fsdp() > 1 ? 1 : 0, most_zero = sharded ? 3 : 0;
    for (const ScheduleChoice& choice : schedules_of(candidate.pp(), task.fixed.schedule)) {
      candidate.schedule = choice.kind;
      candidate.chunks = choice.chunks;
      for (const int64_t microbatch : microbatch_sizes(candidate)) {
        candidate.microbatch = microbatch;
        for (candidate.zero = least_zero; candidate.zero <= most_zero; ++candidate.zero)
          recompute_of(candidate);
      }
    }
  }

  void mesh(Candidate candidate) {
    if (cancelled && cancelled()) return;
    if (const auto why = why_not_shape(task, candidate)) {
      ++result.dropped[why->obstacle];
      return;
    }
    if (candidate.pp() > task.run.model.layers + 2) {
      ++result.dropped[Obstacle::Pipeline];
      return;
    }
    const int replicas = task.ranks / candidate.axes.ranks();
    for (const int ep : divisors(task.run.model.has_experts() ? replicas : 1)) {
      candidate.axes[AxisKind::Ep] = ep;
      dispatches_of(candidate, replicas / ep);
      candidate.experts = "ep+tp";
      if (task.run.model.has_experts() && candidate.tp() > 1)
        dispatches_of(candidate, replicas / ep);
      candidate.experts = "ep";
    }
  }

  void dispatches_of(Candidate candidate, int replicas) {
    replicas_of(candidate, replicas);
    candidate.dispatch = DispatchKind::Exchange;
    if (task.run.model.has_experts() && candidate.expert_ranks() > 1)
      replicas_of(candidate, replicas);
  }

  void replicas_of(Candidate candidate, int replicas) {
    if (const auto why = why_not_shape(task, candidate)) {
      ++result.dropped[why->obstacle];
      return;
    }
    for (const int fsdp : divisors(replicas)) {
      candidate.axes[AxisKind::Fsdp] = fsdp;
      candidate.axes[AxisKind::Dp] = replicas / fsdp;
      knobs_of_mesh(candidate);
    }
  }

  // Every size of the axes from this row on; those that split data take what the others leave.
  void shapes(Candidate candidate, size_t row) {
    if (row == kNumAxes) {
      mesh(candidate);
      candidate.context = ContextKind::Ulysses;
      if (candidate.cp() > 1) mesh(candidate);
      return;
    }
    const int left = kAxes[row].splits_data ? 1 : task.ranks / candidate.axes.ranks();
    for (const int size : divisors(left)) {
      candidate.axes[kAxes[row].axis] = size;
      shapes(candidate, row + 1);
    }
  }
};

}  // namespace

Enumeration enumerate(const PlanTask& task, const std::function<bool()>& cancelled) {
  Enumerator all{task, cancelled};
  all.shapes({}, 0);
  return std::move(all.result);
}

}  // namespace tessera
