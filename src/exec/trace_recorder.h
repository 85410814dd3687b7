// SPDX-License-Identifier: Apache-2.0
// Records what ranks do, instruction by instruction, for a trace (program/trace_writer.h).
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "exec/rank_executor.h"
#include "files/trace_events.h"
#include "program/trace_writer.h"

namespace tessera {

class TraceRecorder {
 public:
  explicit TraceRecorder(int ranks);

  // From the rank's own thread.
  void observe(int rank, const InstructionEvent& event);
  void stop() { recording_ = false; }
  bool recording() const { return recording_; }

  // What one rank did, as items of a JSON list; empty where it did nothing.
  std::string events(int rank) const;
  std::string to_json() const;  // of all ranks

 private:
  using Clock = std::chrono::steady_clock;

  struct Rank {
    const Program* program = nullptr;  // null before its first instruction
    RankTrace trace;
    double begin_seconds = 0;                   // of the instruction that runs
    int step = 0;                               // of the trace, that it is in
    std::optional<StepPlace> last = {};         // instruction of a step that began
    bool in_step = false;                       // the instruction that runs
    std::map<const std::byte*, size_t> flying;  // slice of a started collective, by what it fills
  };

  static void count_step(Rank& rank, const InstructionEvent& event);
  void finish(Rank& rank, const InstructionEvent& event, double end_seconds);

  Clock::time_point zero_ = Clock::now();
  std::vector<Rank> ranks_;
  bool recording_ = true;
};

}  // namespace tessera
