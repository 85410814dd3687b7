// SPDX-License-Identifier: Apache-2.0
#include "schedule/action_order.h"

#include "core/error.h"

namespace tessera {
namespace {

class Walk {
 public:
  explicit Walk(const Schedule& schedule) : schedule_(schedule) {
    for (const auto& actions : schedule.actions) num_actions_ += actions.size();
    next_.resize(schedule.actions.size());
    const size_t entries = entry(schedule, schedule.num_stages(), 0);
    forward_done_.resize(entries);
    input_grad_done_.resize(entries);
  }

  std::vector<ActionPlace> run() {
    order_.reserve(num_actions_);
    while (order_.size() < num_actions_) {
      const size_t before = order_.size();
      for (size_t rank = 0; rank < next_.size(); ++rank) advance(rank);
      if (order_.size() == before) throw stuck();
    }
    return std::move(order_);
  }

 private:
  bool ready(const Action& action) const {
    const std::optional<int> stage = awaited_stage(schedule_, action);
    if (!stage) return true;
    const auto& done = action.kind == ActionKind::Forward ? forward_done_ : input_grad_done_;
    return done[entry(schedule_, *stage, action.microbatch)];
  }

  // Runs the rank's actions until one has to wait.
  void advance(size_t rank) {
    const std::vector<Action>& actions = schedule_.actions[rank];
    for (size_t& i = next_[rank]; i < actions.size() && ready(actions[i]); ++i) {
      const size_t at = entry(schedule_, actions[i].stage, actions[i].microbatch);
      if (actions[i].kind == ActionKind::Forward) forward_done_[at] = true;
      if (gives_input_grad(actions[i].kind)) input_grad_done_[at] = true;
      order_.push_back({static_cast<int>(rank), i});
    }
  }

  UserError stuck() const {
    std::string waits;
    int named = 0;
    for (size_t rank = 0; rank < next_.size() && named < 4; ++rank) {
      if (next_[rank] == schedule_.actions[rank].size()) continue;
      const Action& action = schedule_.actions[rank][next_[rank]];
      const int stage = *awaited_stage(schedule_, action);
      waits += fmt::format(
          "{}rank {} at {} (action {}) waits for microbatch {} of stage {} on rank {}",
          named++ == 0 ? "" : "; ", rank, to_string(action), next_[rank], action.microbatch, stage,
          schedule_.rank_of_stage[static_cast<size_t>(stage)]);
    }
    return user_error("schedule {} deadlocks: {}", schedule_.kind, waits)
        .help("move an action that others wait for to the front of its rank's order");
  }

  const Schedule& schedule_;
  size_t num_actions_ = 0;
  std::vector<size_t> next_;  // by rank
  std::vector<bool> forward_done_, input_grad_done_;
  std::vector<ActionPlace> order_;
};

}  // namespace

std::optional<int> awaited_stage(const Schedule& schedule, const Action& action) {
  if (action.kind == ActionKind::Forward && action.stage > 0) return action.stage - 1;
  if (gives_input_grad(action.kind) && action.stage + 1 < schedule.num_stages())
    return action.stage + 1;
  return std::nullopt;
}

std::vector<ActionPlace> action_order(const Schedule& schedule) { return Walk(schedule).run(); }

}  // namespace tessera
