// SPDX-License-Identifier: Apache-2.0
#include "schedule/check_schedule.h"

#include <array>

#include "core/error.h"
#include "schedule/action_order.h"

namespace tessera {
namespace {

// Positions of the actions of one stage and microbatch in its rank's order; -1: absent.
using Positions = std::array<int, kNumActionKinds>;

constexpr const char* kCellHelp = "every stage needs F, then B (or I, then W), once per microbatch";

std::string cell(const Schedule& schedule, size_t at, ActionKind kind) {
  const auto count = static_cast<size_t>(schedule.microbatches);
  return to_string(Action{kind, static_cast<int>(at / count), static_cast<int>(at % count)});
}

void check_shape(const Schedule& schedule) {
  TESSERA_CHECK(schedule.ranks >= 1 && schedule.chunks >= 1 && schedule.microbatches >= 1);
  TESSERA_CHECK(schedule.actions.size() == static_cast<size_t>(schedule.ranks));
  TESSERA_CHECK(schedule.rank_of_stage.size() == static_cast<size_t>(schedule.num_stages()));
  for (const int rank : schedule.rank_of_stage) TESSERA_CHECK(rank >= 0 && rank < schedule.ranks);
}

void check_range(const Schedule& schedule, int rank, const Action& action) {
  if (action.stage < 0 || action.stage >= schedule.num_stages())
    throw user_error("rank {} runs {}, but there are stages 0 to {}", rank, to_string(action),
                     schedule.num_stages() - 1)
        .help("a cell is stage, letter, microbatch");
  if (action.microbatch < 0 || action.microbatch >= schedule.microbatches)
    throw user_error("rank {} runs {}, but there are microbatches 0 to {}", rank, to_string(action),
                     schedule.microbatches - 1)
        .help("a cell is stage, letter, microbatch");
  const int holder = schedule.rank_of_stage[static_cast<size_t>(action.stage)];
  if (holder != rank)
    throw user_error("rank {} runs {}, but stage {} is on rank {}", rank, to_string(action),
                     action.stage, holder)
        .help("a rank runs only its own stages");
}

std::vector<Positions> find_positions(const Schedule& schedule) {
  std::vector<Positions> found(entry(schedule, schedule.num_stages(), 0), {-1, -1, -1, -1});
  for (int rank = 0; rank < schedule.ranks; ++rank) {
    const std::vector<Action>& actions = schedule.actions[static_cast<size_t>(rank)];
    for (size_t i = 0; i < actions.size(); ++i) {
      check_range(schedule, rank, actions[i]);
      int& position = found[entry(schedule, actions[i].stage, actions[i].microbatch)]
                           [static_cast<size_t>(actions[i].kind)];
      if (position >= 0)
        throw user_error("rank {} runs {} twice, as actions {} and {}", rank, to_string(actions[i]),
                         position, i)
            .help(kCellHelp);
      position = static_cast<int>(i);
    }
  }
  return found;
}

// `later` must exist, and come after `first`.
void check_follows(const Schedule& schedule, size_t at, const Positions& positions,
                   ActionKind first, ActionKind later) {
  const int early = positions[static_cast<size_t>(first)];
  const int late = positions[static_cast<size_t>(later)];
  const int rank = schedule.rank_of_stage[at / static_cast<size_t>(schedule.microbatches)];
  if (early < 0 || late < 0)
    throw user_error("rank {} never runs {}", rank, cell(schedule, at, early < 0 ? first : later))
        .help(kCellHelp);
  if (late < early)
    throw user_error("rank {} runs {} (action {}) before {} (action {})", rank,
                     cell(schedule, at, later), late, cell(schedule, at, first), early)
        .help(kCellHelp);
}

void check_cell(const Schedule& schedule, size_t at, const Positions& positions) {
  using Kind = ActionKind;
  const auto present = [&](Kind kind) { return positions[static_cast<size_t>(kind)] >= 0; };
  const bool split = present(Kind::InputGrad) || present(Kind::WeightGrad);
  if (split && present(Kind::Backward))
    throw user_error(
        "both {} and {} are run", cell(schedule, at, Kind::Backward),
        cell(schedule, at, present(Kind::InputGrad) ? Kind::InputGrad : Kind::WeightGrad))
        .help("B is the full backward: use either B, or I and W");
  check_follows(schedule, at, positions, Kind::Forward, split ? Kind::InputGrad : Kind::Backward);
  if (split) check_follows(schedule, at, positions, Kind::InputGrad, Kind::WeightGrad);
}

// By stage, the microbatches in the order in which their forwards or input gradients run.
std::vector<std::vector<int>> microbatch_orders(const Schedule& schedule, bool forward) {
  std::vector<std::vector<int>> orders(static_cast<size_t>(schedule.num_stages()));
  for (const std::vector<Action>& actions : schedule.actions)
    for (const Action& action : actions)
      if (forward ? action.kind == ActionKind::Forward : gives_input_grad(action.kind))
        orders[static_cast<size_t>(action.stage)].push_back(action.microbatch);
  return orders;
}

// Each edge between stages has one channel per direction, and it keeps the order.
void check_messages(const Schedule& schedule, bool forward) {
  const std::vector<std::vector<int>> orders = microbatch_orders(schedule, forward);
  for (size_t stage = 0; stage + 1 < orders.size(); ++stage) {
    if (schedule.rank_of_stage[stage] == schedule.rank_of_stage[stage + 1]) continue;
    for (size_t i = 0; i < orders[stage].size(); ++i)
      if (orders[stage][i] != orders[stage + 1][i])
        throw user_error(
            "stages {} and {} differ in the order of microbatches: {} {} is {} on one and {} on "
            "the other",
            stage, stage + 1, forward ? "forward" : "backward", i, orders[stage][i],
            orders[stage + 1][i])
            .help(
                "messages between two stages arrive in the order in which they were sent: use the "
                "same order on both");
  }
}

}  // namespace

void check_schedule(const Schedule& schedule) {
  check_shape(schedule);
  const std::vector<Positions> found = find_positions(schedule);
  for (size_t at = 0; at < found.size(); ++at) check_cell(schedule, at, found[at]);
  check_messages(schedule, true);
  check_messages(schedule, false);
  action_order(schedule);
}

}  // namespace tessera
