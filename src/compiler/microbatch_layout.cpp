// SPDX-License-Identifier: Apache-2.0
#include "compiler/microbatch_layout.h"

#include <algorithm>
#include <array>
#include <set>
#include <tuple>
#include <unordered_map>

#include "compiler/flat_uses.h"
#include "passes/memory/place_intervals.h"

namespace tessera {
namespace {

constexpr std::array kMoving{Repeat::PerSlot,    Repeat::StreamIn,    Repeat::StreamOut,
                             Repeat::GradientIn, Repeat::GradientOut, Repeat::InnerGradients,
                             Repeat::Checkpoint, Repeat::Away,        Repeat::AwayInHost};

enum class MovingArena : uint8_t { Slot, Window, HostSlot };

MovingArena arena_of(Repeat repeat) {
  switch (repeat) {
    case Repeat::PerSlot:
    case Repeat::StreamIn:
    case Repeat::StreamOut:
    case Repeat::Checkpoint:
    case Repeat::Away:
      return MovingArena::Slot;
    case Repeat::AwayInHost:
      return MovingArena::HostSlot;
    default:
      return MovingArena::Window;
  }
}

bool is_away(Repeat repeat) { return repeat == Repeat::Away || repeat == Repeat::AwayInHost; }

// The bytes of one kind that a microbatch has in a stage or, where they are PerSlot, in a segment,
// or, where they are away in between, in a block; those that are rebuilt, or come back from the
// host, are others than the forward's.
struct Key {
  int unit, microbatch;
  Repeat repeat;
  bool rebuilt;
  auto operator<=>(const Key&) const = default;
};

struct KeyHash {
  size_t operator()(const Key& key) const {
    const auto number = [](int part) { return static_cast<uint64_t>(static_cast<uint32_t>(part)); };
    const uint64_t all = ((number(key.unit) << 32U) | number(key.microbatch)) * 32 +
                         static_cast<uint64_t>(key.repeat) * 2 + (key.rebuilt ? 1 : 0);
    return (all ^ (all >> 29U)) * 0x9e3779b97f4a7c15U >> 20U;
  }
};

struct Entry {
  Key key;
  Interval interval;
};

class ScriptLayout {
 public:
  ScriptLayout(const LayoutRequest& request, const Program& program)
      : request_(request), program_(program) {}

  MicrobatchBytes run(Script& script) {
    for (const ScriptCall& call : script.calls)
      if (call.routine == RoutineKind::ActivationsOut) leave_.insert({call.block, call.microbatch});
    for (size_t i = 0; i < script.calls.size(); ++i) mark(script.calls[i], static_cast<int>(i));
    const MicrobatchBytes bytes{.slot = place(MovingArena::Slot, 0),
                                .window = place(MovingArena::Window, request_.window_begin),
                                .host_slot = place(MovingArena::HostSlot, 0)};
    for (ScriptCall& call : script.calls)
      for (const Repeat repeat : kMoving)
        if (const auto found = places_.find(key(call, repeat)); found != places_.end())
          call.bases[static_cast<size_t>(repeat)] = entries_[found->second].interval.offset;
    return bytes;
  }

 private:
  Key key(const ScriptCall& call, Repeat repeat) const {
    const ProgramBlock& block = program_.blocks[static_cast<size_t>(call.block)];
    const bool slot = repeat == Repeat::PerSlot,
               backward = side(call.routine) == StepSide::Backward;
    if (is_away(repeat))
      return {call.block, call.microbatch, repeat,
              repeat == Repeat::Away && backward && leave_.contains({call.block, call.microbatch})};
    const bool made_again = slot || repeat == Repeat::StreamOut;
    return {slot ? block.segment : block.stage, call.microbatch, repeat,
            made_again && request_.recomputes && backward};
  }

  int64_t bytes_of(const ProgramBlock& block, Repeat repeat) const {
    if (block.stage == kEveryStage) return 0;
    const StageBytes& stage = request_.stages.at(block.stage);
    switch (repeat) {
      case Repeat::StreamIn:
        return stage.stream_in;
      case Repeat::StreamOut:
        return stage.stream_out;
      case Repeat::GradientIn:
        return stage.gradient_in;
      case Repeat::GradientOut:
        return stage.gradient_out;
      case Repeat::InnerGradients:
        return stage.inner_gradients;
      case Repeat::Checkpoint:
        return stage.checkpoints;
      default:
        return 0;
    }
  }

  // What moves among the buffers that a block's routine touches, and how far into its bytes the
  // buffers reach. Of what a segment keeps, a forward whose values are rebuilt touches the less.
  const std::map<Repeat, int64_t>& touched(const ScriptCall& call) {
    const auto [found, fresh] = touched_.try_emplace({call.block, call.routine});
    const ProgramBlock& block = program_.blocks[static_cast<size_t>(call.block)];
    if (fresh)
      for (const Instruction& instruction : program_.class_of(block).routine(call.routine))
        for (const std::span<const int> buffers : {reads(instruction), writes(instruction)})
          for (const int buffer : buffers) {
            int64_t& reach = found->second[block.repeats[static_cast<size_t>(buffer)]];
            reach = std::max(reach, end_of(block, buffer));
          }
    return found->second;
  }

  int64_t end_of(const ProgramBlock& block, int buffer) const {
    const auto at = static_cast<size_t>(buffer);
    return align_up(block.offsets[at] + program_.class_of(block).buffers[at].type.bytes());
  }

  // Everything that a call's instructions touch lives from the first such call to the last.
  void mark(const ScriptCall& call, int position) {
    const ProgramBlock& block = program_.blocks[static_cast<size_t>(call.block)];
    for (const auto& [repeat, reach] : touched(call)) {
      const bool own = repeat == Repeat::PerSlot || is_away(repeat);
      const int64_t bytes = own ? reach : bytes_of(block, repeat);
      if (bytes == 0 || block.stage == kEveryStage) continue;
      const Key own_key = key(call, repeat);
      const auto [at, fresh] = places_.try_emplace(own_key, entries_.size());
      if (fresh)
        entries_.push_back({own_key, {.begin = position, .end = position, .bytes = bytes}});
      Interval& interval = entries_[at->second].interval;
      interval.end = position;
      interval.bytes = std::max(interval.bytes, bytes);
    }
  }

  int64_t place(MovingArena arena, int64_t begin) {
    std::vector<size_t> own;
    for (size_t i = 0; i < entries_.size(); ++i)
      if (arena_of(entries_[i].key.repeat) == arena) own.push_back(i);
    // In order of time the first place that fits is the best one for equal sizes.
    std::sort(own.begin(), own.end(), [this](size_t a, size_t b) {
      const Entry &first = entries_[a], &second = entries_[b];
      return std::tie(first.interval.begin, first.key) <
             std::tie(second.interval.begin, second.key);
    });
    std::vector<Interval> intervals;
    for (const size_t i : own) intervals.push_back(entries_[i].interval);
    const int64_t bytes = place_intervals(intervals);
    for (size_t i = 0; i < own.size(); ++i)
      entries_[own[i]].interval.offset = begin + intervals[i].offset;
    return bytes;
  }

  const LayoutRequest& request_;
  const Program& program_;
  std::map<std::pair<int, RoutineKind>, std::map<Repeat, int64_t>> touched_;  // by block
  std::set<std::pair<int, int>> leave_;  // blocks and microbatches that go to the host
  std::vector<Entry> entries_;
  std::unordered_map<Key, size_t, KeyHash> places_;  // among the entries
};

}  // namespace

MicrobatchBytes lay_out_microbatches(const LayoutRequest& request, Program& program) {
  MicrobatchBytes most;
  for (Script& script : program.scripts) {
    const MicrobatchBytes bytes = ScriptLayout(request, program).run(script);
    most.slot = std::max(most.slot, bytes.slot);
    most.window = std::max(most.window, bytes.window);
    most.host_slot = std::max(most.host_slot, bytes.host_slot);
  }
  return most;
}

}  // namespace tessera
