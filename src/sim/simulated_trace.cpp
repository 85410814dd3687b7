// SPDX-License-Identifier: Apache-2.0
// The simulated ranks as trace events: one process per program, whose first rank represents all
// identical ones.
#include <algorithm>

#include "files/trace_events.h"
#include "program/kept_bytes.h"
#include "sim/simulate.h"

namespace tessera {
namespace {

constexpr double kMicroseconds = 1e6;

class RankTrace {
 public:
  RankTrace(const Program& program, const SimulatedRank& rank, TraceEvents& text)
      : program_(program), rank_(rank), text_(text) {}

  void write() {
    name_process();
    text_.name_track(rank_.rank, 0, "kernels");
    for (const SimulatedSlice& slice : rank_.slices)
      if (slice.collective)
        write_collective(slice);
      else
        write_kernel(slice);
  }

 private:
  void name_process() {
    std::string place;
    for (int axis = 0; axis < program_.mesh.num_axes(); ++axis)
      place += fmt::format(" {}={}", program_.mesh.axes()[static_cast<size_t>(axis)].name,
                           program_.mesh.coordinate(rank_.rank, axis));
    text_.add(
        "process_name",
        fmt::format(
            R"("ph":"M","pid":{},"args":{{"name":"rank {}{}{}"}})", rank_.rank, rank_.rank, place,
            rank_.alike > 1 ? fmt::format(" and {} identical ranks", rank_.alike - 1) : ""));
  }

  void write_slice(std::string_view name, int track, const SimulatedSlice& slice) {
    text_.add(name,
              fmt::format(R"("ph":"X","pid":{},"tid":{},"ts":{:.3f},"dur":{:.3f},"args":)"
                          R"({{"block":"{}","routine":"{}","microbatch":{},"bytes":{}}})",
                          rank_.rank, track, slice.begin * kMicroseconds,
                          (slice.end - slice.begin) * kMicroseconds,
                          program_.blocks[static_cast<size_t>(slice.call->block)].name,
                          tessera::name(slice.call->routine), slice.call->microbatch, slice.bytes));
  }

  void write_kernel(const SimulatedSlice& slice) {
    write_slice(name(*slice.instruction), 0, slice);
    if (slice.call != last_) count_memory(slice);
    last_ = slice.call;
  }

  // Concurrent collectives are on separate tracks.
  void write_collective(const SimulatedSlice& slice) {
    size_t lane = 0;
    while (lane < busy_until_.size() && busy_until_[lane] > slice.begin) ++lane;
    const int track = static_cast<int>(lane) + 1;
    if (lane == busy_until_.size()) {
      busy_until_.push_back(0);
      text_.name_track(rank_.rank, track, fmt::format("collectives {}", lane));
    }
    busy_until_[lane] = slice.end;
    write_slice(fmt::format("{} {}", name(*slice.instruction),
                            group_name(*slice.instruction, *slice.call, program_)),
                track, slice);
  }

  void count_memory(const SimulatedSlice& slice) {
    text_.add("memory in use",
              fmt::format(R"("ph":"C","pid":{},"ts":{:.3f},"args":{{"bytes":{}}})", rank_.rank,
                          slice.begin * kMicroseconds, kept_.during(*slice.call)));
  }

  const Program& program_;
  const SimulatedRank& rank_;
  TraceEvents& text_;
  const ScriptCall* last_ = nullptr;
  KeptBytes kept_{program_};
  std::vector<double> busy_until_;  // by track of collectives
};

}  // namespace

std::string to_trace_json(std::span<const Program> programs, const Simulation& simulation) {
  TraceEvents text;
  for (size_t i = 0; i < programs.size(); ++i)
    RankTrace(programs[i], simulation.ranks[i], text).write();
  return trace_json({&text.text(), 1});
}

}  // namespace tessera
