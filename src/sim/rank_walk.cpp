// SPDX-License-Identifier: Apache-2.0
#include "sim/rank_walk.h"

#include <algorithm>

#include "core/error.h"
#include "ir/op_list.h"

namespace tessera {

namespace {

bool splits_backward(const Program& program) {
  return std::ranges::any_of(program.classes, [](const ProgramClass& each) {
    return !each.routine(RoutineKind::WeightGrad).empty();
  });
}

bool ends_a_step(RoutineKind routine) {
  return routine == RoutineKind::NormReduce || routine == RoutineKind::MetricReduce ||
         routine == RoutineKind::CountReduce;
}

}  // namespace

RankWalk::RankWalk(const Program& program, const Cluster& cluster, const SimulateOptions& options)
    : RankWalk(program, program.script(options.script), cluster, options) {}

RankWalk::RankWalk(const Program& program, const Script& script, const Cluster& cluster,
                   const SimulateOptions& options)
    : program_(program),
      cluster_(cluster),
      script_(script),
      keep_slices_(options.keep_slices),
      count_transfers_(options.count_transfers),
      times_(program, cluster, options),
      hops_(program, cluster, options.split_sends),
      eager_seconds_(options.eager_seconds),
      steps_drift_(options.steps_drift),
      late_sums_(options.late_sums),
      blocking_sends_(options.blocking_sends && !splits_backward(program)),
      is_free_(options.unit_cost.has_value()),
      repeats_(options.repeats),
      link_free_(cluster.levels.size() + 2),
      sent_(cluster.levels.size()),
      on_links_(cluster.levels.size() + 2) {
  result_.peak_bytes = program.peak_bytes() +
                       kept_attention_bytes(program, script, options.attention) +
                       held_logit_bytes(program, options.loss);
}

void RankWalk::begin_again() {
  TESSERA_CHECK(finished());
  call_ = 0;
  instruction_ = 0;
  keep_slices_ = count_transfers_ = false;
}

bool RankWalk::advance(Crossings& crossings, int members) {
  bool moved = false;
  for (; call_ < script_.calls.size(); ++call_, instruction_ = 0) {
    const ScriptCall& call = script_.calls[call_];
    const int class_index = program_.blocks[static_cast<size_t>(call.block)].class_index;
    const auto& routine = program_.classes[static_cast<size_t>(class_index)].routine(call.routine);
    const auto& times = times_.of(class_index, call.routine);
    if (instruction_ == 0) call_begin_ = now_;
    for (; instruction_ < routine.size(); ++instruction_) {
      if (!step(call, routine[instruction_], times[instruction_], crossings, members)) return moved;
      moved = true;
    }
    if (repeats_ > 0) repeat_rest(class_index, call.routine);
    if (!routine.empty()) keep(result_.trace.routines, {call_begin_, now_, &call});
  }
  return moved;
}

bool RankWalk::step(const ScriptCall& call, const Instruction& instruction,
                    const TimedInstruction& timed, Crossings& crossings, int members) {
  switch (timed.kind) {
    case TimedInstruction::Kind::Kernel:
      launch(timed);
      run_kernel(call, instruction, timed);
      return true;
    case TimedInstruction::Kind::Collective: {
      if (steps_drift_ && timed.crosses && ends_a_step(call.routine)) return true;
      if (timed.async) {
        launch(timed);
        flying_[place_of(call, instruction)] = start(call, instruction, timed, crossings);
        return true;
      }
      if (blocked_.empty()) {
        launch(timed);
        blocked_.push_back(start(call, instruction, timed, crossings));
      }
      if (!finish(blocked_.back(), crossings, members)) return false;
      blocked_.clear();
      return true;
    }
    case TimedInstruction::Kind::Wait: {
      const auto found = flying_.find(place_of(call, instruction));
      if (found == flying_.end()) return true;  // a group of one: nothing was started
      const double before = now_;
      if (!finish(found->second, crossings, members)) return false;
      flying_.erase(found);
      keep(result_.trace.kernels, {before, now_, &call, &instruction, timed.bytes});
      return true;
    }
  }
  return true;
}

// What recomputation elsewhere repeats and ours, in this routine, does not. Attention is repeated
// by both or by none.
void RankWalk::repeat_rest(int class_index, RoutineKind routine) {
  const ProgramClass& own = program_.classes[static_cast<size_t>(class_index)];
  const bool whole = routine == RoutineKind::Recompute;
  double compute = 0, exposed = 0, repeated = 0, launches = 0;
  const auto add = [&](RoutineKind from, bool counts_all, double sign) {
    const auto& times = times_.of(class_index, from);
    for (size_t i = 0; i < times.size(); ++i) {
      const Instruction& instruction = own.routine(from)[i];
      const auto* kernel = instruction.as<KernelInstruction>();
      const bool attention = kernel != nullptr && kernel->op == OpKind::attention;
      if (attention || times[i].crosses) continue;
      if (!counts_all && instruction.phase != Phase::Recompute) continue;
      const bool moves = times[i].kind == TimedInstruction::Kind::Collective;
      (moves ? exposed : compute) += sign * times[i].seconds;
      if (times[i].kind != TimedInstruction::Kind::Wait) launches += sign * times[i].launches;
      if (sign < 0) repeated += times[i].seconds;
    }
  };
  add(routine, whole, -1);
  if (repeated == 0) return;
  add(RoutineKind::Forward, true, 1);
  compute = repeats_ * std::max(0.0, compute);
  exposed = repeats_ * std::max(0.0, exposed);
  host_ += eager_seconds_ * repeats_ * std::max(0.0, launches);
  result_.times.compute_seconds += compute;
  result_.times.exposed_communication_seconds += exposed;
  now_ += compute + exposed;
}

// A host that launches one kernel at a time runs ahead of its device until it waits for counts. A
// device that waits for its host counts as computing.
void RankWalk::launch(const TimedInstruction& timed) {
  if (eager_seconds_ == 0) return;
  if (timed.needs_counts) host_ = std::max(host_, now_);
  host_ += eager_seconds_ * timed.launches;
  result_.times.compute_seconds += std::max(0.0, host_ - now_);
  now_ = std::max(now_, host_);
}

// Concurrent transfers between ranks take some of the device's time.
void RankWalk::run_kernel(const ScriptCall& call, const Instruction& instruction,
                          const TimedInstruction& timed) {
  const double last = *std::max_element(link_free_.begin(), link_free_.end() - 2);
  const double beside = std::clamp(last - now_, 0.0, timed.seconds);
  const double seconds = timed.seconds + cluster_.device.overlap_slowdown.value * beside;
  keep(result_.trace.kernels, {now_, now_ + seconds, &call, &instruction, timed.bytes});
  result_.times.compute_seconds += seconds;
  now_ += seconds;
}

RankWalk::Flying RankWalk::start(const ScriptCall& call, const Instruction& instruction,
                                 const TimedInstruction& timed, Crossings& crossings) {
  Flying flying{.seconds = timed.seconds, .instruction = &instruction, .level = timed.level};
  const StageChannel* channel =
      call.channel == kNone ? nullptr : &program_.channels[static_cast<size_t>(call.channel)];
  if (channel && cluster_.device.cores == 0 && !is_free_) {
    flying.seconds = hops_.seconds(call.channel, static_cast<double>(timed.bytes));
    flying.level = hops_.level(call.channel);
  }
  result_.communication_seconds += flying.seconds;
  flying.slice = keep(result_.trace.collectives, {now_, now_, &call, &instruction, timed.bytes});
  if (channel && channel->from == channel->to) {
    flying.seconds = 0;
    flying.end = now_;
  } else if (timed.crosses) {
    const std::string& group = group_name(instruction, call, program_);
    flying.crossing = {group, numbers_[group]++};
    const auto* collective = instruction.as<CollectiveInstruction>();
    flying.members =
        collective ? static_cast<int>(program_.group_of(*collective).coordinates.size()) : 2;
    Crossing& crossing = crossings[flying.crossing];
    ++crossing.arrived;
    const bool sends = takes_links(instruction);
    const double begin = sends ? send(flying) : now_;
    crossing.ready = std::max(crossing.ready, begin);
    crossing.seconds = std::max(crossing.seconds, flying.seconds);
    if (sends && blocking_sends_) {
      const double end = begin + flying.seconds;
      result_.times.exposed_communication_seconds += end - now_;
      now_ = end;
    }
  } else if (late_sums_ && call.routine == RoutineKind::Reduce && timed.async) {
    flying.late = true;
  } else if (!cluster_.moves_in_wait) {
    flying.seconds = on_link(timed.level, timed.seconds);
    const double free = flying.end = link_free_[timed.level];
    if (count_transfers_)
      on_links_[timed.level].push_back({free - flying.seconds, free, &instruction});
  }
  if (count_transfers_) result_.transfers[&instruction].seconds += flying.seconds;
  return flying;
}

// How long a transfer takes once its links are free. Bytes that meet others on their way from or to
// the host share the link with them.
double RankWalk::on_link(size_t level, double seconds) {
  const double begin = std::max(now_, link_free_[level]);
  if (const size_t levels = cluster_.levels.size(); level >= levels) {
    const double other = link_free_[level == levels ? levels + 1 : levels];
    const int ranks = program_.mesh.num_ranks();
    const double share =
        std::min(1.0, cluster_.host->together(ranks) / (2 * cluster_.host->one_way(ranks)));
    const double beside = std::clamp(other - begin, 0.0, seconds / share);
    seconds += beside * (1 - share);
  }
  link_free_[level] = begin + seconds;
  return seconds;
}

// What a stage sends leaves by its own links; who receives it only waits.
bool RankWalk::takes_links(const Instruction& instruction) const {
  return instruction.as<SendInstruction>() && !cluster_.moves_in_wait;
}

// It begins after what was sent before. Collectives that use the links go on beside it: each has
// half of them, so that it takes twice as long, and they end later by what it alone would take.
double RankWalk::send(Flying& flying) {
  double &free = link_free_[flying.level], &sent = sent_[flying.level];
  const double begin = std::max(now_, sent);
  if (free > begin) {
    free += flying.seconds;
    flying.seconds *= 2;
  }
  sent = begin + flying.seconds;
  return begin;
}

// The wait is a bubble until the others arrive, then the transfer.
bool RankWalk::finish(Flying& flying, Crossings& crossings, int members) {
  double ready = now_;  // identical ranks are at the same point
  if (flying.crosses()) {
    const Crossing& crossing = crossings[flying.crossing];
    if (crossing.arrived < (flying.members > 0 ? flying.members : members)) return false;
    ready = crossing.ready;
    flying.end = ready + crossing.seconds;
  }
  if (flying.late) {
    on_link(flying.level, flying.seconds);
    flying.end = link_free_[flying.level];
  }
  if (cluster_.moves_in_wait) flying.end = std::max(now_, ready) + flying.seconds;
  const double stood_still = std::max(0.0, flying.end - now_);
  const double bubble = std::clamp(ready - now_, 0.0, stood_still);
  result_.times.bubble_seconds += bubble;
  result_.times.exposed_communication_seconds += stood_still - bubble;
  if (count_transfers_ && stood_still > 0) count_stall(flying, bubble);
  now_ += stood_still;
  // Megatron's host waits for its device at every exchange between stages.
  if (eager_seconds_ > 0 && flying.crosses()) host_ = std::max(host_, now_);
  if (keep_slices_) result_.trace.collectives[flying.slice].end_seconds = flying.end;
  return true;
}

// What is awaited may queue for its links: then the transfers before it stall the rank.
void RankWalk::count_stall(const Flying& flying, double bubble) {
  result_.transfers[flying.instruction].waiting_seconds += bubble;
  if (flying.crosses() || cluster_.moves_in_wait) {
    result_.transfers[flying.instruction].exposed_seconds += flying.end - now_ - bubble;
    return;
  }
  std::deque<OnLink>& queue = on_links_[flying.level];
  while (!queue.empty() && queue.front().end <= now_) queue.pop_front();
  for (const OnLink& moved : queue) {
    if (moved.begin >= flying.end) break;
    result_.transfers[moved.instruction].exposed_seconds +=
        std::min(moved.end, flying.end) - std::max(moved.begin, now_);
  }
}

double RankWalk::seconds_under_way() const {
  double seconds = 0;
  for (const auto& [place, flying] : flying_) seconds += flying.seconds;
  return seconds;
}

RankWalk::Place RankWalk::place_of(const ScriptCall& call, const Instruction& instruction) const {
  const int buffer = awaited_buffer(instruction);
  const ProgramBlock& block = program_.blocks[static_cast<size_t>(call.block)];
  const Buffer& declared = program_.class_of(block).buffers[static_cast<size_t>(buffer)];
  return {declared.space, declared.lifetime, program_.offset_of(call, buffer)};
}

size_t RankWalk::keep(std::vector<Slice>& slices, const Slice& slice) {
  if (!keep_slices_) return 0;
  slices.push_back(slice);
  return slices.size() - 1;
}

}  // namespace tessera
