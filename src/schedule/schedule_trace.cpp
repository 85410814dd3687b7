// SPDX-License-Identifier: Apache-2.0
// Schedules in the trace event format (docs/trace.md): a process per rank, a slice per action.
#include <fmt/format.h>

#include <array>

#include "files/trace_events.h"
#include "schedule/action_order.h"
#include "schedule/schedule_drawing.h"

namespace tessera {
namespace {

constexpr double kMicroseconds = 1000;  // per unit of time

class Trace {
 public:
  void add(const TimedSchedule& timed) {
    for (int rank = 0; rank < timed.schedule.ranks; ++rank) add_rank(timed, rank);
    first_process_ += timed.schedule.ranks;
  }
  std::string finish() const { return trace_json({&events_.text(), 1}); }

 private:
  void add_rank(const TimedSchedule& timed, int rank) {
    const Schedule& schedule = timed.schedule;
    const int process = first_process_ + rank;
    events_.name_process(process, fmt::format("{} rank {}", schedule.kind, rank));
    events_.name_track({process, 0}, "kernels");
    const std::vector<int> chunks = chunk_of_stage(schedule);
    int held = 0;
    for (const TimedAction& timed_action : timed.timing.ranks[static_cast<size_t>(rank)].actions) {
      const Action& action = timed_action.action;
      const std::array<TraceArgument, 3> arguments{
          {{"stage", int64_t{action.stage}},
           {"chunk", int64_t{chunks[static_cast<size_t>(action.stage)]}},
           {"microbatch", int64_t{action.microbatch}}}};
      events_.add_slice(fmt::format("{} {}", name(action.kind), action.microbatch), "action",
                        {process, 0}, timed_action.begin * kMicroseconds,
                        timed_action.end * kMicroseconds, arguments);
      add_arrows(schedule, rank, timed_action);
      if (action.kind == ActionKind::Forward) count(process, timed_action.begin, ++held, schedule);
      if (frees_activations(action.kind)) count(process, timed_action.end, --held, schedule);
    }
  }

  void count(int process, double at, int held, const Schedule& schedule) {
    events_.add_count("activations held", process, at * kMicroseconds,
                      {"microbatches", static_cast<double>(held) / schedule.chunks});
  }

  // An arrow goes from the end of an action to the start of the one on another rank that waits for
  // it.
  void add_arrows(const Schedule& schedule, int rank, const TimedAction& timed_action) {
    const Action& action = timed_action.action;
    const bool forward = action.kind == ActionKind::Forward;
    const auto arrow = [&](ArrowEnd end, int sender, double at) {
      events_.add_arrow(end,
                        fmt::format("{}-{}-{}-{}", first_process_, forward ? "F" : "B", sender,
                                    action.microbatch),
                        {first_process_ + rank, 0}, at * kMicroseconds);
    };
    if (const auto from = awaited_stage(schedule, action);
        from && schedule.rank_of_stage[static_cast<size_t>(*from)] != rank)
      arrow(ArrowEnd::Arrives, *from, timed_action.begin);
    if (!forward && !gives_input_grad(action.kind)) return;
    const int to = action.stage + (forward ? 1 : -1);
    if (to >= 0 && to < schedule.num_stages() &&
        schedule.rank_of_stage[static_cast<size_t>(to)] != rank)
      arrow(ArrowEnd::Leaves, action.stage, timed_action.end);
  }

  TraceEvents events_;
  int first_process_ = 0;  // of the schedule that is added
};

}  // namespace

std::string to_trace(std::span<const TimedSchedule> schedules) {
  Trace trace;
  for (const TimedSchedule& timed : schedules) trace.add(timed);
  return trace.finish();
}

}  // namespace tessera
