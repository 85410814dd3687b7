// SPDX-License-Identifier: Apache-2.0
#include "planner/enumerate.h"

#include <algorithm>

#include "planner/knobs.h"

namespace tessera {
namespace {

std::vector<int> divisors(int number) {
  std::vector<int> found;
  for (int d = 1; d <= number; ++d)
    if (number % d == 0) found.push_back(d);
  return found;
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

  // All values of the knobs with that scope, from this row of the table on.
  template <typename Then>
  void choose(const Candidate& candidate, KnobScope scope, size_t row, const Then& then) {
    while (row < knobs().size() && knobs()[row].scope != scope) ++row;
    if (row == knobs().size()) return then(candidate);
    const Knob& knob = knobs()[row];
    for (const std::string& value : knob.values_for(task, candidate)) {
      Candidate with = candidate;
      if (value != knob.get(candidate)) knob.set(with, value);
      choose(with, scope, row + 1, then);
    }
  }

  // Whether no knob but those of its scope could make it divide.
  bool is_hopeless(const Candidate& candidate) {
    if (const auto why = why_not_shape(task, candidate)) {
      ++result.dropped[why->obstacle];
      return true;
    }
    return false;
  }

  void mesh(const Candidate& candidate) {
    if ((cancelled && cancelled()) || is_hopeless(candidate)) return;
    if (candidate.pp() > task.run.model.layers + 2) {
      ++result.dropped[Obstacle::Pipeline];
      return;
    }
    const int replicas = task.ranks / candidate.axes.ranks();
    for (const int ep : divisors(task.run.model.has_experts() ? replicas : 1)) {
      Candidate with = candidate;
      with.axes[AxisKind::Ep] = ep;
      choose(with, KnobScope::Experts, 0,
             [&](const Candidate& chosen) { replicas_of(chosen, replicas / ep); });
    }
  }

  void replicas_of(Candidate candidate, int replicas) {
    if (is_hopeless(candidate)) return;
    for (const int fsdp : divisors(replicas)) {
      candidate.axes[AxisKind::Fsdp] = fsdp;
      candidate.axes[AxisKind::Dp] = replicas / fsdp;
      choose(candidate, KnobScope::Step, 0, [&](const Candidate& chosen) { consider(chosen); });
    }
  }

  // Every size of the axes from this row on; those that split data take what the others leave.
  void shapes(Candidate candidate, size_t row) {
    if (row == kNumAxes) {
      choose(candidate, KnobScope::Sequence, 0, [&](const Candidate& chosen) { mesh(chosen); });
      return;
    }
    const int left =
        kAxes[row].splits_data || kAxes[row].apart ? 1 : task.ranks / candidate.axes.ranks();
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
