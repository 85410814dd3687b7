// SPDX-License-Identifier: Apache-2.0
#include "compiler/message_times.h"

#include <algorithm>

#include "core/error.h"
#include "schedule/schedule_timing.h"

namespace tessera {

MessageTimes::MessageTimes(const Schedule& schedule)
    : stages_(schedule.num_stages()),
      microbatches_(schedule.microbatches),
      times_(static_cast<size_t>(kNumActionKinds * stages_ * microbatches_)) {
  const auto rank_of = [&](int stage) {
    return stage < 0 || stage >= stages_ ? -1 : schedule.rank_of_stage[static_cast<size_t>(stage)];
  };
  for (const RankTiming& rank : time_schedule(schedule, StageCosts{}).ranks)
    for (size_t i = 0; i < rank.actions.size(); ++i) {
      const auto& [action, begin, end] = rank.actions[i];
      const int giver = action.kind == ActionKind::Forward ? action.stage - 1 : action.stage + 1;
      const bool local = rank_of(giver) == rank_of(action.stage);
      times_[place(action.kind, action.stage, action.microbatch)] = {
          .begin = begin, .ready = local ? begin : rank.actions[i == 0 ? 0 : i - 1].begin};
    }
}

size_t MessageTimes::place(ActionKind kind, int stage, int microbatch) const {
  TESSERA_CHECK(stage >= 0 && stage < stages_ && microbatch >= 0 && microbatch < microbatches_);
  return static_cast<size_t>((static_cast<int>(kind) * stages_ + stage) * microbatches_ +
                             microbatch);
}

double MessageTimes::begin(const Action& action) const {
  return times_[place(action.kind, action.stage, action.microbatch)].begin;
}

double MessageTimes::stream_taken(int stage, int microbatch) const {
  return times_[place(ActionKind::Forward, stage + 1, microbatch)].ready;
}

// By one of these two; the other has no time.
double MessageTimes::gradient_taken(int stage, int microbatch) const {
  return std::max(times_[place(ActionKind::Backward, stage - 1, microbatch)].ready,
                  times_[place(ActionKind::InputGrad, stage - 1, microbatch)].ready);
}

Schedule forward_part(const Schedule& schedule) {
  Schedule part = schedule;
  for (std::vector<Action>& actions : part.actions)
    std::erase_if(actions, [](const Action& action) { return action.kind != ActionKind::Forward; });
  return part;
}

}  // namespace tessera
