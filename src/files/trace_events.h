// SPDX-License-Identifier: Apache-2.0
// Events in the trace format that ui.perfetto.dev and chrome://tracing open, as text. Times are in
// microseconds and are rounded to nanoseconds at both ends, so that a slice within another one
// stays within it. Names may hold any characters.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>

namespace tessera {

struct TraceArgument {
  std::string_view key;
  std::variant<int64_t, double, std::string_view> value;
};

struct TraceTrack {
  int process = 0, track = 0;
};

enum class ArrowEnd : uint8_t { Leaves, Arrives };

class TraceEvents {
 public:
  void name_process(int process, std::string_view name);
  void name_track(TraceTrack track, std::string_view name);
  void add_slice(std::string_view name, std::string_view category, TraceTrack track,
                 double begin_us, double end_us, std::span<const TraceArgument> arguments);
  // The value that a counter has from this time on.
  void add_count(std::string_view counter, int process, double at_us, const TraceArgument& value);
  // One end of a message; both ends have the same id.
  void add_arrow(ArrowEnd end, std::string_view id, TraceTrack track, double at_us);

  const std::string& text() const { return text_; }

 private:
  void begin_event();

  std::string text_;
};

// One file of the events of several writers.
std::string trace_json(std::span<const std::string> events);

}  // namespace tessera
