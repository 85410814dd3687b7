// SPDX-License-Identifier: Apache-2.0
// Any text as lines of a trace: what is read has numbers within bounds, and ends after it begins.
#include "fuzz_input.h"
#include "studio/runs/trace_lines.h"

namespace tessera {
namespace {

void check_line(std::string_view line) {
  const std::optional<TracedSlice> slice = parse_trace_line(line);
  if (!slice) return;
  must(slice->rank >= 0 && slice->rank < 1 << 20, "ranks are within bounds");
  for (const int64_t number : {slice->step, slice->call, slice->index, slice->microbatch})
    must(number >= 0 && number < int64_t{1} << 31, "numbers are within bounds");
  must(slice->begin_seconds >= 0 && slice->end_seconds >= slice->begin_seconds &&
           slice->end_seconds <= 2e9,
       "slices end after they begin");
}

}  // namespace
}  // namespace tessera

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  tessera::each_line(data, size, tessera::check_line);
  return 0;
}
