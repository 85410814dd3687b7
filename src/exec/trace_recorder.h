// SPDX-License-Identifier: Apache-2.0
// Records what ranks do, instruction by instruction, and writes it in the trace event format that
// ui.perfetto.dev and chrome://tracing open: a process per rank, a track for its kernels and one or
// more for its collectives, arrows from sends to receives, a counter of memory in use.
#pragma once

#include <chrono>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "exec/rank_executor.h"
#include "files/trace_events.h"

namespace tessera {

class TraceRecorder {
 public:
  explicit TraceRecorder(Mesh mesh);

  // From the rank's own thread.
  void observe(int rank, const InstructionEvent& event);
  void stop() { recording_ = false; }
  bool recording() const { return recording_; }

  // What one rank did, as items of a JSON list.
  std::string events(int rank) const;
  std::string to_json() const;  // of all ranks

 private:
  using Clock = std::chrono::steady_clock;

  struct Slice {
    double begin_us, end_us;
    const Instruction* instruction;
    const ScriptCall* call;
    const Program* program;
    int64_t bytes;   // that the rank reads and writes, or gives to a collective
    int64_t number;  // of a collective among those of its axes; -1: none
    bool started;    // an async collective's start: its slice ends with the wait
  };
  struct Rank {
    std::vector<Slice> kernels, collectives;
    double begin_us = 0;                        // of the instruction that runs
    std::map<const std::byte*, size_t> flying;  // slice of a started collective, by what it fills
    std::map<std::string, int64_t> numbers;     // collectives so far, by axes
  };

  void finish(Rank& rank, const InstructionEvent& event, double end_us);
  void write_kernels(int rank, TraceEvents& json) const;
  void write_collectives(int rank, TraceEvents& json) const;
  void write_ring_arrows(int rank, int track, const Slice& slice, TraceEvents& json) const;
  void write_channel_arrow(int rank, int track, const Slice& slice, TraceEvents& json) const;

  Mesh mesh_;
  Clock::time_point zero_ = Clock::now();
  std::vector<Rank> ranks_;
  bool recording_ = true;
};

}  // namespace tessera
