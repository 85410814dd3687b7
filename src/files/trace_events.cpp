// SPDX-License-Identifier: Apache-2.0
#include "files/trace_events.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tessera {

void TraceEvents::add(std::string_view name, const std::string& fields) {
  text_ += fmt::format("{}{{\"name\":\"{}\",{}}}", text_.empty() ? "" : ",\n", name, fields);
}

void TraceEvents::name_track(int process, int track, std::string_view name) {
  add("thread_name",
      fmt::format(R"("ph":"M","pid":{},"tid":{},"args":{{"name":"{}"}})", process, track, name));
}

void TraceEvents::add_arrow(const char* phase, const std::string& id, int process, int track,
                            double at) {
  add("message",
      fmt::format(R"("cat":"message","ph":"{}","bp":"e","id":"{}","pid":{},"tid":{},"ts":{:.3f})",
                  phase, id, process, track, at));
}

std::string trace_json(std::span<const std::string> events) {
  return fmt::format("{{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n{}\n]}}\n",
                     fmt::join(events, ",\n"));
}

}  // namespace tessera
