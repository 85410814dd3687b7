// SPDX-License-Identifier: Apache-2.0
// Slices of a trace (program/trace_writer.h) as they are read back, line by line: anybody may have
// written them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tessera {

// What a rank did of an instruction. Numbers are within bounds; whether a program has such an
// instruction is for the caller to see.
struct TracedSlice {
  int64_t rank = 0;
  int64_t step = 0;  // of the trace, from 1; 0: it names no instruction of a training step
  int64_t call = 0, index = 0, microbatch = 0;
  std::string program_class = {}, routine = {}, block = {};
  bool transfers = false;  // on a track of collectives
  double begin_seconds = 0, end_seconds = 0;
};

// Nothing where the line is none: a name of a track, a counter, an arrow, a routine as a whole.
std::optional<TracedSlice> parse_trace_line(std::string_view line);

}  // namespace tessera
