// SPDX-License-Identifier: Apache-2.0
#include "exec/trace_recorder.h"

#include <algorithm>
#include <optional>

#include "program/buffer_types.h"
#include "program/kept_bytes.h"

namespace tessera {

namespace {

constexpr size_t kMostSlices = 1 << 20;  // of a rank

// What it reads and writes; of one that communicates, what the rank gives or receives.
int64_t bytes_of_event(const InstructionEvent& event) {
  if (communicates(event.instruction)) return given_bytes(event.program_class, event.instruction);
  return bytes_of(event.program_class, reads(event.instruction)) +
         bytes_of(event.program_class, writes(event.instruction));
}

// The address by which a wait finds what an instruction started.
const std::byte* awaited_data(const InstructionEvent& event) {
  const bool reads_it =
      event.instruction.as<SendInstruction>() || event.instruction.as<WaitInstruction>();
  return (reads_it ? event.bound.operands : event.bound.results)[0].data;
}

}  // namespace

TraceRecorder::TraceRecorder(Mesh mesh)
    : mesh_(std::move(mesh)), ranks_(static_cast<size_t>(mesh_.num_ranks())) {
  for (Rank& rank : ranks_) rank.kernels.reserve(1 << 14);
}

void TraceRecorder::observe(int rank, const InstructionEvent& event) {
  if (!recording_) return;
  Rank& own = ranks_[static_cast<size_t>(rank)];
  if (own.kernels.size() > kMostSlices) return;
  const double now_us = std::chrono::duration<double, std::micro>(event.time - zero_).count();
  if (!event.finished)
    own.begin_us = now_us;
  else
    finish(own, event, now_us);
}

void TraceRecorder::finish(Rank& rank, const InstructionEvent& event, double end_us) {
  Slice slice{.begin_us = rank.begin_us,
              .end_us = end_us,
              .instruction = &event.instruction,
              .call = &event.call,
              .program = &event.program,
              .bytes = bytes_of_event(event),
              .number = -1,
              .started = false};
  if (has_peers(event.instruction, event.program)) {
    slice.number = rank.numbers[group_name(event.instruction, event.call, event.program)]++;
    slice.started = is_started(event.instruction);
    if (slice.started) rank.flying[awaited_data(event)] = rank.collectives.size();
    rank.collectives.push_back(slice);
    return;
  }
  if (event.instruction.as<WaitInstruction>()) {
    const auto found = rank.flying.find(awaited_data(event));
    if (found != rank.flying.end()) {
      rank.collectives[found->second].end_us = end_us;
      rank.flying.erase(found);
    }
  }
  rank.kernels.push_back(slice);
}

namespace {

std::string text_of(const ScriptCall& call, const Program& program, int64_t bytes) {
  return fmt::format(R"("args":{{"block":"{}","routine":"{}","microbatch":{},"bytes":{}}})",
                     program.blocks[static_cast<size_t>(call.block)].name, name(call.routine),
                     call.microbatch, bytes);
}

std::string slice_fields(int rank, int track, double begin_us, double end_us,
                         const std::string& args) {
  return fmt::format(R"("ph":"X","pid":{},"tid":{},"ts":{:.3f},"dur":{:.3f},{})", rank, track,
                     begin_us, end_us - begin_us, args);
}

}  // namespace

void TraceRecorder::write_kernels(int rank, TraceEvents& json) const {
  json.name_track(rank, 0, "kernels");
  std::optional<KeptBytes> kept;
  const ScriptCall* last = nullptr;
  for (const Slice& slice : ranks_[static_cast<size_t>(rank)].kernels) {
    json.add(name(*slice.instruction),
             slice_fields(rank, 0, slice.begin_us, slice.end_us,
                          text_of(*slice.call, *slice.program, slice.bytes)));
    if (slice.call == last) continue;
    last = slice.call;
    if (!kept) kept.emplace(*slice.program);
    json.add("memory in use", fmt::format(R"("ph":"C","pid":{},"ts":{:.3f},"args":{{"bytes":{}}})",
                                          rank, slice.begin_us, kept->during(*last)));
  }
}

// Those in flight at once lie on tracks of their own.
void TraceRecorder::write_collectives(int rank, TraceEvents& json) const {
  std::vector<double> busy_until;  // by track
  for (const Slice& slice : ranks_[static_cast<size_t>(rank)].collectives) {
    size_t lane = 0;
    while (lane < busy_until.size() && busy_until[lane] > slice.begin_us) ++lane;
    const auto track = static_cast<int>(lane) + 1;
    if (lane == busy_until.size()) {
      busy_until.push_back(0);
      json.name_track(rank, track, fmt::format("collectives {}", lane));
    }
    busy_until[lane] = slice.end_us;
    json.add(fmt::format("{} {}", name(*slice.instruction),
                         group_name(*slice.instruction, *slice.call, *slice.program)),
             slice_fields(rank, track, slice.begin_us, slice.end_us,
                          text_of(*slice.call, *slice.program, slice.bytes)));
    const auto* collective = slice.instruction->as<CollectiveInstruction>();
    if (collective && collective->op == CollectiveOp::Shift)
      write_ring_arrows(rank, track, slice, json);
    if (slice.call->channel != kNone) write_channel_arrow(rank, track, slice, json);
  }
}

// From this rank's send, and to its receive.
void TraceRecorder::write_ring_arrows(int rank, int track, const Slice& slice,
                                      TraceEvents& json) const {
  const Group& group = slice.program->group_of(*slice.instruction->as<CollectiveInstruction>());
  const std::vector<int> ring = members_of(group, mesh_, rank);
  const auto index = static_cast<size_t>(std::ranges::find(ring, rank) - ring.begin());
  const int previous = ring[(index + ring.size() - 1) % ring.size()];
  json.add_arrow("s", fmt::format("{}-{}-{}", group.name, slice.number, rank), rank, track,
                 slice.begin_us);
  json.add_arrow("f", fmt::format("{}-{}-{}", group.name, slice.number, previous), rank, track,
                 slice.end_us);
}

// From the sender's stage to the receiver's.
void TraceRecorder::write_channel_arrow(int rank, int track, const Slice& slice,
                                        TraceEvents& json) const {
  const Program& program = *slice.program;
  const StageChannel& channel = program.channels[static_cast<size_t>(slice.call->channel)];
  if (channel.from == channel.to) return;
  const std::vector<int> line = mesh_.group(rank, AxisIds{program.pipeline_axis});
  const std::string id =
      fmt::format("{}-{}-{}", channel.name, slice.number, line[static_cast<size_t>(channel.from)]);
  const bool sends = slice.instruction->as<SendInstruction>() != nullptr;
  json.add_arrow(sends ? "s" : "f", id, rank, track, sends ? slice.begin_us : slice.end_us);
}

std::string TraceRecorder::events(int rank) const {
  TraceEvents json;
  std::string place;
  for (int axis = 0; axis < mesh_.num_axes(); ++axis)
    place += fmt::format(" {}={}", mesh_.axes()[static_cast<size_t>(axis)].name,
                         mesh_.coordinate(rank, axis));
  json.add("process_name",
           fmt::format(R"("ph":"M","pid":{},"args":{{"name":"rank {}{}"}})", rank, rank, place));
  write_kernels(rank, json);
  write_collectives(rank, json);
  return json.text();
}

std::string TraceRecorder::to_json() const {
  std::vector<std::string> all;
  for (int rank = 0; rank < static_cast<int>(ranks_.size()); ++rank) all.push_back(events(rank));
  return trace_json(all);
}

}  // namespace tessera
