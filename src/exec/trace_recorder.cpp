// SPDX-License-Identifier: Apache-2.0
#include "exec/trace_recorder.h"

#include "program/buffer_types.h"
#include "program/mean_types.h"

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

TraceRecorder::TraceRecorder(int ranks) : ranks_(static_cast<size_t>(ranks)) {
  for (Rank& rank : ranks_) rank.trace.kernels.reserve(1 << 14);
}

void TraceRecorder::observe(int rank, const InstructionEvent& event) {
  if (!recording_) return;
  Rank& own = ranks_[static_cast<size_t>(rank)];
  if (own.trace.kernels.size() > kMostSlices) return;
  const double now = std::chrono::duration<double>(event.time - zero_).count();
  if (event.finished) return finish(own, event, now);
  own.program = &event.program;
  own.begin_seconds = now;
  count_step(own, event);
  std::vector<Slice>& routines = own.trace.routines;
  if (routines.empty() || routines.back().call != &event.call)
    routines.push_back({.begin_seconds = now, .end_seconds = now, .call = &event.call});
}

// A script runs in order, so what stands earlier in it begins the next step.
void TraceRecorder::count_step(Rank& rank, const InstructionEvent& event) {
  const auto place = place_in_step(event.program, event.call, event.instruction);
  rank.in_step = place.has_value();
  if (!place) return;
  if (!rank.last || *place <= *rank.last) ++rank.step;
  rank.last = place;
}

void TraceRecorder::finish(Rank& rank, const InstructionEvent& event, double end_seconds) {
  const Slice slice{.begin_seconds = rank.begin_seconds,
                    .end_seconds = end_seconds,
                    .call = &event.call,
                    .instruction = &event.instruction,
                    .bytes = bytes_of_event(event),
                    .step = rank.in_step ? rank.step : 0};
  RankTrace& trace = rank.trace;
  trace.routines.back().end_seconds = end_seconds;
  if (has_peers(event.instruction, event.program)) {
    if (is_started(event.instruction)) rank.flying[awaited_data(event)] = trace.collectives.size();
    trace.collectives.push_back(slice);
    return;
  }
  if (event.instruction.as<WaitInstruction>()) {
    const auto found = rank.flying.find(awaited_data(event));
    if (found != rank.flying.end()) {
      trace.collectives[found->second].end_seconds = end_seconds;
      rank.flying.erase(found);
    }
  }
  trace.kernels.push_back(slice);
}

std::string TraceRecorder::events(int rank) const {
  const Rank& own = ranks_[static_cast<size_t>(rank)];
  return own.program ? trace_events(*own.program, own.trace, rank) : "";
}

std::string TraceRecorder::to_json() const {
  std::vector<std::string> all;
  for (int rank = 0; rank < static_cast<int>(ranks_.size()); ++rank) all.push_back(events(rank));
  return trace_json(all);
}

}  // namespace tessera
