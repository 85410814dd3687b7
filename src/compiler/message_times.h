// SPDX-License-Identifier: Apache-2.0
// When the ranks of a pipeline could take each other's messages, if every action took one unit of
// time. Who waits for a message no earlier than its taker begins to receive it never waits for
// ever: all waits then follow one order in time.
#pragma once

#include <vector>

#include "schedule/schedule.h"

namespace tessera {

class MessageTimes {
 public:
  explicit MessageTimes(const Schedule& schedule);

  double begin(const Action& action) const;
  // When the rank that takes what the stage gives begins to receive it: one action ahead of the one
  // that needs it, or with it where giver and taker are one rank.
  double stream_taken(int stage, int microbatch) const;
  double gradient_taken(int stage, int microbatch) const;

 private:
  struct Times {
    double begin = 0, ready = 0;
  };
  size_t place(ActionKind kind, int stage, int microbatch) const;

  int stages_, microbatches_;
  std::vector<Times> times_;
};

// Forward actions alone: an evaluation's.
Schedule forward_part(const Schedule& schedule);

// Of both scripts.
struct ScheduleMessages {
  MessageTimes training, evaluation;
  explicit ScheduleMessages(const Schedule& schedule)
      : training(schedule), evaluation(forward_part(schedule)) {}
};

}  // namespace tessera
