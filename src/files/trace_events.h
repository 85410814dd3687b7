// SPDX-License-Identifier: Apache-2.0
// Events in the trace format that ui.perfetto.dev and chrome://tracing open, as text.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace tessera {

class TraceEvents {
 public:
  // `fields` are what follows the name: "\"ph\":\"X\",...".
  void add(std::string_view name, const std::string& fields);
  void name_track(int process, int track, std::string_view name);
  // One end of a message: phase "s" where it leaves, "f" where it arrives, at a time in us.
  void add_arrow(const char* phase, const std::string& id, int process, int track, double at);

  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

// One file of the events of several writers.
std::string trace_json(std::span<const std::string> events);

}  // namespace tessera
