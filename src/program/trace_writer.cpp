// SPDX-License-Identifier: Apache-2.0
#include "program/trace_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>

#include "files/trace_events.h"
#include "program/kept_bytes.h"

namespace tessera {
namespace {

constexpr double kMicroseconds = 1e6;

bool runs_per_microbatch(RoutineKind routine) {
  return side(routine) != StepSide::Neither || routine >= RoutineKind::StreamIn;
}

template <typename T>
std::optional<int64_t> number_in(const std::vector<T>& list, const T& item) {
  const std::less<const T*> before;
  if (before(&item, list.data()) || !before(&item, list.data() + list.size())) return {};
  return &item - list.data();
}

class TraceWriter {
 public:
  TraceWriter(const Program& program, const RankTrace& trace, int rank, int alike)
      : program_(program), mesh_(program.mesh), trace_(trace), rank_(rank), alike_(alike) {}

  std::string write() {
    name_process();
    events_.name_track({rank_, 0}, "kernels");
    write_routines();
    for (const Slice& slice : trace_.kernels) add(name(*slice.instruction), "kernel", 0, slice);
    for (const Slice& slice : trace_.collectives) write_collective(slice);
    return events_.text();
  }

 private:
  void name_process() {
    std::string text = fmt::format("rank {}", rank_);
    for (int axis = 0; axis < mesh_.num_axes(); ++axis)
      text += fmt::format(" {}={}", mesh_.axes()[static_cast<size_t>(axis)].name,
                          mesh_.coordinate(rank_, axis));
    if (alike_ > 1) text += fmt::format(" and {} identical", alike_ - 1);
    events_.name_process(rank_, text);
  }

  const std::string& block_of(const Slice& slice) const {
    return program_.blocks[static_cast<size_t>(slice.call->block)].name;
  }

  // What a routine and an instruction have in common.
  std::vector<TraceArgument> arguments_of(const Slice& slice) const {
    return {{"block", block_of(slice)},
            {"routine", name(slice.call->routine)},
            {"microbatch", int64_t{slice.call->microbatch}},
            {"bytes", slice.bytes}};
  }

  // Which instruction of the step it is, so that a run can be laid beside its simulation.
  void add(std::string_view slice_name, std::string_view category, int track, const Slice& slice) {
    std::vector<TraceArgument> arguments = arguments_of(slice);
    const ProgramBlock& block = program_.blocks[static_cast<size_t>(slice.call->block)];
    const std::optional<StepPlace> place =
        slice.instruction && slice.step > 0
            ? place_in_step(program_, *slice.call, *slice.instruction)
            : std::nullopt;
    if (place)
      arguments.insert(arguments.end(), {{"class", program_.class_of(block).name},
                                         {"index", place->index},
                                         {"call", place->call},
                                         {"step", int64_t{slice.step}}});
    events_.add_slice(slice_name, category, {rank_, track}, slice.begin_seconds * kMicroseconds,
                      slice.end_seconds * kMicroseconds, arguments);
  }

  // "forward layer.2, microbatch 1", before the kernels that lie within it.
  void write_routines() {
    KeptBytes kept(program_);
    for (const Slice& slice : trace_.routines) {
      std::string text = fmt::format("{} {}", name(slice.call->routine), block_of(slice));
      if (runs_per_microbatch(slice.call->routine))
        text += fmt::format(", microbatch {}", slice.call->microbatch);
      add(text, "routine", 0, slice);
      events_.add_count("memory in use", rank_, slice.begin_seconds * kMicroseconds,
                        {"bytes", kept.during(*slice.call)});
    }
  }

  // Collectives in flight at once have tracks of their own.
  int track_of(const Slice& slice) {
    size_t lane = 0;
    while (lane < busy_until_.size() && busy_until_[lane] > slice.begin_seconds) ++lane;
    const auto track = static_cast<int>(lane) + 1;
    if (lane == busy_until_.size()) {
      busy_until_.push_back(0);
      events_.name_track({rank_, track}, fmt::format("collectives {}", lane));
    }
    busy_until_[lane] = slice.end_seconds;
    return track;
  }

  void write_collective(const Slice& slice) {
    const std::string& group = group_name(*slice.instruction, *slice.call, program_);
    const int64_t number = numbers_[group]++;
    const int track = track_of(slice);
    add(fmt::format("{} {}", name(*slice.instruction), group), "collective", track, slice);
    if (slice.call->channel != kNone) write_channel_arrow(track, slice, number);
    // Where a rank stands for others, its neighbours in a ring are not in the trace.
    const auto* collective = slice.instruction->as<CollectiveInstruction>();
    if (collective && collective->op == CollectiveOp::Shift && alike_ == 1)
      write_ring_arrows(track, slice, number, program_.group_of(*collective));
  }

  // From this rank's send, and to its receive.
  void write_ring_arrows(int track, const Slice& slice, int64_t number, const Group& group) {
    const std::vector<int> ring = members_of(group, mesh_, rank_);
    const auto index = static_cast<size_t>(std::ranges::find(ring, rank_) - ring.begin());
    const int previous = ring[(index + ring.size() - 1) % ring.size()];
    events_.add_arrow(ArrowEnd::Leaves, fmt::format("{}-{}-{}", group.name, number, rank_),
                      {rank_, track}, slice.begin_seconds * kMicroseconds);
    events_.add_arrow(ArrowEnd::Arrives, fmt::format("{}-{}-{}", group.name, number, previous),
                      {rank_, track}, slice.end_seconds * kMicroseconds);
  }

  // From the sender's stage to the receiver's.
  void write_channel_arrow(int track, const Slice& slice, int64_t number) {
    const StageChannel& channel = program_.channels[static_cast<size_t>(slice.call->channel)];
    if (channel.from == channel.to) return;
    const std::vector<int> line = mesh_.group(rank_, AxisIds{program_.pipeline_axis});
    const std::string id =
        fmt::format("{}-{}-{}", channel.name, number, line[static_cast<size_t>(channel.from)]);
    const bool sends = slice.instruction->as<SendInstruction>() != nullptr;
    events_.add_arrow(sends ? ArrowEnd::Leaves : ArrowEnd::Arrives, id, {rank_, track},
                      (sends ? slice.begin_seconds : slice.end_seconds) * kMicroseconds);
  }

  const Program& program_;
  const Mesh& mesh_;
  const RankTrace& trace_;
  int rank_, alike_;
  TraceEvents events_;
  std::vector<double> busy_until_;          // by track of collectives
  std::map<std::string, int64_t> numbers_;  // collectives so far, by group
};

}  // namespace

std::optional<StepPlace> place_in_step(const Program& program, const ScriptCall& call,
                                       const Instruction& instruction) {
  const auto script = std::ranges::find(program.scripts, "train_step", &Script::name);
  if (script == program.scripts.end()) return {};
  const ProgramClass& program_class =
      program.class_of(program.blocks[static_cast<size_t>(call.block)]);
  const std::optional<int64_t> number = number_in(script->calls, call);
  const std::optional<int64_t> index = number_in(program_class.routine(call.routine), instruction);
  if (!number || !index) return {};
  return StepPlace{*number, *index};
}

std::string trace_events(const Program& program, const RankTrace& trace, int rank, int alike) {
  return TraceWriter(program, trace, rank, alike).write();
}

}  // namespace tessera
