// SPDX-License-Identifier: Apache-2.0
#include "studio/lessons/lesson_run.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <set>

#include "config/compile_step.h"
#include "program/buffer_types.h"
#include "program/collective_table.h"
#include "program/mean_types.h"
#include "studio/simulated_step.h"

namespace tessera {
namespace {

constexpr const char* kLessonCluster = "laptop";

const Script& step_of(const Program& program) { return program.script("train_step"); }

const ProgramClass& class_at(const Program& program, const ScriptCall& call) {
  return program.class_of(program.blocks[static_cast<size_t>(call.block)]);
}

// What a call does of a schedule's table; recomputation is part of the backward that it serves.
std::optional<Action> action_of(const Program& program, const ScriptCall& call, bool split) {
  const int stage = program.blocks[static_cast<size_t>(call.block)].stage;
  const auto action = [&](ActionKind kind) { return Action{kind, stage, call.microbatch}; };
  switch (call.routine) {
    case RoutineKind::Forward:
      return action(ActionKind::Forward);
    case RoutineKind::Recompute:
      return action(split ? ActionKind::InputGrad : ActionKind::Backward);
    case RoutineKind::Backward:
      return action(ActionKind::Backward);
    case RoutineKind::InputGrad:
      return action(ActionKind::InputGrad);
    case RoutineKind::WeightGrad:
      return action(ActionKind::WeightGrad);
    default:
      return std::nullopt;
  }
}

size_t length_of(const Program& program, const ScriptCall& call) {
  return class_at(program, call).routine(call.routine).size();
}

// Calls [first, last] of a script are one action, with what stands between them.
struct ActionCalls {
  Action action;
  size_t first = 0, last = 0;
};

std::vector<ActionCalls> actions_of(const Program& program, bool split) {
  std::vector<ActionCalls> actions;
  const std::vector<ScriptCall>& calls = step_of(program).calls;
  for (size_t i = 0; i < calls.size(); ++i) {
    const std::optional<Action> action = action_of(program, calls[i], split);
    if (!action) continue;
    if (actions.empty() || !(actions.back().action == *action)) actions.push_back({*action, i, i});
    actions.back().last = i;
  }
  return actions;
}

// The calls of an action share its time by their number of instructions. Some actions have no
// calls: a head has its weight gradients with the loss, an embedding has no input gradient.
std::vector<CallTime> times_of(const Program& program, const RankTiming& timing, bool split) {
  const std::vector<ScriptCall>& calls = step_of(program).calls;
  std::vector<CallTime> times(calls.size());
  double now = 0;
  size_t i = 0;
  for (const ActionCalls& action : actions_of(program, split)) {
    const auto timed = std::ranges::find(timing.actions, action.action, &TimedAction::action);
    TESSERA_CHECK(timed != timing.actions.end(), "{} is not of the schedule",
                  to_string(action.action));
    for (; i < action.first; ++i) times[i] = {now, now};
    double all = 0;
    for (size_t j = i; j <= action.last; ++j)
      all += static_cast<double>(length_of(program, calls[j]));
    now = timed->begin;
    for (; i <= action.last; ++i) {
      const double share =
          (timed->end - timed->begin) * static_cast<double>(length_of(program, calls[i])) / all;
      times[i] = {now, now + share};
      now += share;
    }
    now = timed->end;
  }
  for (; i < calls.size(); ++i) times[i] = {now, now};
  return times;
}

using SentMessages = std::set<std::pair<std::string, int>>;  // by channel and microbatch

// One program on its way through its instructions.
class ProgramWalk {
 public:
  ProgramWalk(const Program& program, const std::vector<CallTime>& times)
      : program_(&program), positions_(positions_of(program)) {
    for (const LessonPosition& position : positions_) {
      const CallTime& time = times[static_cast<size_t>(position.call)];
      times_.push_back(time.begin + (time.end - time.begin) * position.index /
                                        static_cast<double>(length_of(program, call(position))));
    }
  }

  bool is_done() const { return next_ == positions_.size(); }
  double time() const { return times_[next_]; }
  bool sends() const {
    return instruction_at(*program_, positions_[next_]).as<SendInstruction>() != nullptr;
  }
  std::pair<std::string, int> message() const { return message(call(positions_[next_])); }
  // Whether it is at the wait for a message that is not sent yet.
  bool is_held(const SentMessages& sent) const {
    if (next_ == 0) return false;
    const ScriptCall& now = call(positions_[next_ - 1]);
    return (now.routine == RoutineKind::StreamInDone ||
            now.routine == RoutineKind::GradientInDone) &&
           !sent.contains(message(now));
  }
  int move() { return static_cast<int>(next_++); }

 private:
  const ScriptCall& call(const LessonPosition& position) const {
    return step_of(*program_).calls[static_cast<size_t>(position.call)];
  }
  std::pair<std::string, int> message(const ScriptCall& of) const {
    return {program_->channels[static_cast<size_t>(of.channel)].name, of.microbatch};
  }

  const Program* program_;
  std::vector<LessonPosition> positions_;
  std::vector<double> times_;
  size_t next_ = 0;
};

// Stages of one rank hand their streams on at home.
bool leaves_rank(const Program& program, const ScriptCall& call) {
  if (call.channel < 0) return true;
  const StageChannel& channel = program.channels[static_cast<size_t>(call.channel)];
  return channel.from != channel.to;
}

double sent_of(const Program& program, const LessonFigure& figure, bool count) {
  double sum = 0;
  for (const LessonPosition& position : positions_of(program)) {
    const Instruction& instruction = instruction_at(program, position);
    if (!has_peers(instruction, program)) continue;
    const auto* collective = instruction.as<CollectiveInstruction>();
    if (!figure.op.empty() && name(instruction) != figure.op) continue;
    if (!figure.axes.empty() &&
        (collective ? program.group_of(*collective).name : "pp") != figure.axes)
      continue;
    const ScriptCall& call = step_of(program).calls[static_cast<size_t>(position.call)];
    if (!leaves_rank(program, call)) continue;
    sum += count ? 1 : sent_bytes(program, class_at(program, call), instruction);
  }
  return sum;
}

}  // namespace

AskedRun asked_lesson(const Lesson& lesson) {
  Json set = Json::object();
  for (const LessonSetting& setting : lesson.settings) set[setting.key] = setting.value;
  const Json run{{"model", lesson.model}, {"cluster", kLessonCluster}, {"set", set}};
  return asked_run({.fields = Json{{"run", run}}});
}

LessonRun compile_lesson(Lesson lesson) {
  LessonRun run;
  run.lesson = std::move(lesson);
  run.asked = asked_lesson(run.lesson);
  run.spec = spec_to_simulate(run.asked.cluster, run.asked.config);
  run.compiled = compile(run.spec);
  run.timing = time_schedule(run.compiled.schedule, StageCosts{1, 1, 1});
  for (size_t i = 0; i < run.programs().size(); ++i)
    run.times.push_back(
        times_of(run.programs()[i], run.timing.ranks[i], run.compiled.module.split_backward));
  return run;
}

std::vector<LessonPosition> positions_of(const Program& program) {
  std::vector<LessonPosition> positions;
  const std::vector<ScriptCall>& calls = step_of(program).calls;
  for (size_t i = 0; i < calls.size(); ++i)
    for (size_t j = 0; j < length_of(program, calls[i]); ++j)
      positions.push_back({static_cast<int>(i), static_cast<int>(j)});
  return positions;
}

const Instruction& instruction_at(const Program& program, const LessonPosition& position) {
  const ScriptCall& call = step_of(program).calls[static_cast<size_t>(position.call)];
  return class_at(program, call).routine(call.routine)[static_cast<size_t>(position.index)];
}

LessonMoments moments_of(const LessonRun& run) {
  std::vector<ProgramWalk> walks;
  for (size_t i = 0; i < run.programs().size(); ++i)
    walks.emplace_back(run.programs()[i], run.times[i]);
  LessonMoments moments;
  SentMessages sent;
  constexpr double kNever = std::numeric_limits<double>::infinity();
  constexpr double kSameTime = 1e-9;  // of sums of shares of a unit
  for (std::vector<int> now(walks.size(), -1);;) {
    double first = kNever;
    for (const ProgramWalk& walk : walks)
      if (!walk.is_done() && !walk.is_held(sent)) first = std::min(first, walk.time());
    if (first == kNever) break;
    SentMessages sending;
    for (size_t i = 0; i < walks.size(); ++i) {
      ProgramWalk& walk = walks[i];
      if (walk.is_done() || walk.is_held(sent) || walk.time() > first + kSameTime) continue;
      if (walk.sends()) sending.insert(walk.message());
      now[i] = walk.move();
    }
    sent.merge(sending);
    moments.times.push_back(moments.times.empty() ? first : std::max(first, moments.times.back()));
    moments.positions.push_back(now);
  }
  for (const ProgramWalk& walk : walks) TESSERA_CHECK(walk.is_done(), "a rank waits for ever");
  return moments;
}

double figure_of(const LessonRun& run, const LessonFigure& figure) {
  const Program& first = run.programs().front();
  const auto kind_bytes = [&](BufferKind kind) { return static_cast<double>(first.bytes(kind)); };
  switch (figure.kind) {
    case FigureKind::SentBytes:
      return sent_of(first, figure, false);
    case FigureKind::SentByAllBytes: {
      double sum = 0;
      for (const Program& program : run.programs()) sum += sent_of(program, figure, false);
      return sum * first.mesh.num_ranks() / static_cast<double>(run.programs().size());
    }
    case FigureKind::Collectives:
      return sent_of(first, figure, true);
    case FigureKind::Bubble:
      return run.timing.bubble_of_ideal;
    case FigureKind::HeldMicrobatches:
      return run.timing.ranks.front().peak_activations;
    case FigureKind::ParameterBytes:
      return kind_bytes(BufferKind::Parameter);
    case FigureKind::GradientBytes:
      return kind_bytes(BufferKind::Gradient);
    case FigureKind::OptimizerBytes:
      return kind_bytes(BufferKind::Optimizer);
    case FigureKind::ActivationBytes:
      return kind_bytes(BufferKind::Activation);
  }
  TESSERA_CHECK(false, "no such figure");
}

std::string_view unit_of(const LessonFigure& figure) {
  switch (figure.kind) {
    case FigureKind::Collectives:
      return "collectives";
    case FigureKind::Bubble:
      return "share";
    case FigureKind::HeldMicrobatches:
      return "microbatches";
    default:
      return "bytes";
  }
}

FoundStop find_stop(const LessonRun& run, const LessonStop& stop) {
  const Program& program = run.programs()[static_cast<size_t>(stop.place)];
  FoundStop found;
  int matches = 0;
  for (size_t c = 0; c < program.classes.size(); ++c) {
    const ProgramClass& program_class = program.classes[c];
    if (program_class.name != stop.block_class) continue;
    const std::vector<Instruction>& routine = program_class.routine(stop.routine);
    for (size_t i = 0; i < routine.size(); ++i) {
      const std::span<const int> written = writes(routine[i]);
      const std::span<const int> named = written.empty() ? reads(routine[i]) : written;
      const bool names = std::ranges::any_of(named, [&](int buffer) {
        return program_class.buffers[static_cast<size_t>(buffer)].name == stop.what;
      });
      if (!names) continue;
      ++matches;
      found.class_index = static_cast<int>(c);
      found.index = static_cast<int>(i);
    }
  }
  TESSERA_CHECK(matches == 1, "lesson {}: {} instructions of {}.{} have {}", run.lesson.name,
                matches, stop.block_class, name(stop.routine), stop.what);
  const std::vector<LessonPosition> positions = positions_of(program);
  for (size_t i = 0; i < positions.size(); ++i) {
    const ScriptCall& call = step_of(program).calls[static_cast<size_t>(positions[i].call)];
    if (program.blocks[static_cast<size_t>(call.block)].class_index != found.class_index ||
        call.routine != stop.routine || positions[i].index != found.index ||
        (stop.microbatch >= 0 && call.microbatch != stop.microbatch))
      continue;
    found.position = static_cast<int>(i);
    return found;
  }
  TESSERA_CHECK(false, "lesson {}: {} never runs", run.lesson.name, stop.what);
}

}  // namespace tessera
