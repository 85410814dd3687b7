// SPDX-License-Identifier: Apache-2.0
#include "schedule/schedule_timing.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "schedule/action_order.h"

namespace tessera {
namespace {

double cost(const StageCosts& costs, ActionKind kind) {
  switch (kind) {
    case ActionKind::Forward:
      return costs.forward;
    case ActionKind::Backward:
      return costs.input_grad + costs.weight_grad;
    case ActionKind::InputGrad:
      return costs.input_grad;
    case ActionKind::WeightGrad:
      break;
  }
  return costs.weight_grad;
}

// When each stage's results are ready, by stage and microbatch.
struct Results {
  std::vector<double> activations, input_grads;
};

void run_action(const Schedule& schedule, const StageCosts& costs, const Action& action,
                Results& results, RankTiming& rank) {
  const bool forward = action.kind == ActionKind::Forward;
  double begin = rank.end;
  if (const auto stage = awaited_stage(schedule, action))
    begin = std::max(begin,
                     (forward ? results.activations
                              : results.input_grads)[entry(schedule, *stage, action.microbatch)]);
  const double end = begin + cost(costs, action.kind);
  if (rank.actions.empty()) rank.begin = begin;
  rank.end = end;
  rank.useful += end - begin;
  rank.actions.push_back({action, begin, end});
  const size_t at = entry(schedule, action.stage, action.microbatch);
  if (forward) results.activations[at] = end;
  if (gives_input_grad(action.kind)) results.input_grads[at] = end;
}

void divide_times(ScheduleTiming& timing, double divisor) {
  for (RankTiming& rank : timing.ranks) {
    for (TimedAction& action : rank.actions) {
      action.begin /= divisor;
      action.end /= divisor;
    }
    for (double* time : {&rank.begin, &rank.end, &rank.useful, &rank.span, &rank.idle})
      *time /= divisor;
  }
  timing.makespan /= divisor;
}

// The factor that turns costs with up to six decimals into integers; 1 if there is none.
double whole_factor(const StageCosts& costs) {
  for (double factor = 1; factor <= 1e6; factor *= 10) {
    const auto whole = [&](double cost) {
      return std::abs(cost * factor - std::round(cost * factor)) <= 1e-12 * cost * factor;
    };
    if (whole(costs.forward) && whole(costs.input_grad) && whole(costs.weight_grad)) return factor;
  }
  return 1;
}

void sum_up(const Schedule& schedule, ScheduleTiming& timing) {
  const std::vector<int> most_held = most_held_by_rank(schedule);
  double span = 0, idle = 0, useful = 0;
  for (const RankTiming& rank : timing.ranks) {
    span = std::max(span, rank.end - rank.begin);
    timing.makespan = std::max(timing.makespan, rank.end);
    useful += rank.useful;
  }
  for (size_t i = 0; i < timing.ranks.size(); ++i) {
    RankTiming& rank = timing.ranks[i];
    rank.span = span;
    rank.idle = span - rank.useful;
    rank.peak_activations = static_cast<double>(most_held[i]) / schedule.chunks;
    idle += rank.idle;
  }
  if (span > 0) timing.bubble_of_total = idle / (span * schedule.ranks);
  if (useful > 0) timing.bubble_of_ideal = idle / useful;
}

}  // namespace

ScheduleTiming time_schedule(const Schedule& schedule, std::span<const StageCosts> costs) {
  TESSERA_CHECK(costs.size() == static_cast<size_t>(schedule.num_stages()));
  ScheduleTiming timing;
  timing.ranks.resize(schedule.actions.size());
  const size_t entries = entry(schedule, schedule.num_stages(), 0);
  Results results{std::vector<double>(entries), std::vector<double>(entries)};
  for (const ActionPlace& place : action_order(schedule)) {
    const auto rank = static_cast<size_t>(place.rank);
    const Action& action = schedule.actions[rank][place.position];
    run_action(schedule, costs[static_cast<size_t>(action.stage)], action, results,
               timing.ranks[rank]);
  }
  sum_up(schedule, timing);
  return timing;
}

ScheduleTiming time_schedule(const Schedule& schedule, const StageCosts& costs) {
  // Divides at the end and not at the start: sums of integers are exact.
  const double factor = whole_factor(costs);
  const StageCosts whole{costs.forward * factor, costs.input_grad * factor,
                         costs.weight_grad * factor};
  const StageCosts rounded{std::round(whole.forward), std::round(whole.input_grad),
                           std::round(whole.weight_grad)};
  const std::vector<StageCosts> by_stage(static_cast<size_t>(schedule.num_stages()),
                                         factor > 1 ? rounded : whole);
  ScheduleTiming timing = time_schedule(schedule, by_stage);
  divide_times(timing, factor * schedule.chunks);
  return timing;
}

namespace {

int change(ActionKind kind) {
  if (kind == ActionKind::Forward) return 1;
  return frees_activations(kind) ? -1 : 0;
}

}  // namespace

std::vector<int> most_held_by_stage(const Schedule& schedule) {
  std::vector<int> held(static_cast<size_t>(schedule.num_stages())), most(held.size());
  for (const std::vector<Action>& actions : schedule.actions)
    for (const Action& action : actions) {
      const auto stage = static_cast<size_t>(action.stage);
      held[stage] += change(action.kind);
      most[stage] = std::max(most[stage], held[stage]);
    }
  return most;
}

std::vector<int> most_held_by_rank(const Schedule& schedule) {
  std::vector<int> most;
  for (const std::vector<Action>& actions : schedule.actions) {
    int held = 0;
    most.push_back(0);
    for (const Action& action : actions) {
      held += change(action.kind);
      most.back() = std::max(most.back(), held);
    }
  }
  return most;
}

}  // namespace tessera
