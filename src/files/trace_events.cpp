// SPDX-License-Identifier: Apache-2.0
#include "files/trace_events.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <iterator>
#include <vector>

namespace tessera {
namespace {

std::string quoted(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x20)
      quoted += fmt::format("\\u{:04x}", c);
    else
      quoted.append(c == '"' || c == '\\' ? 1 : 0, '\\').push_back(c);
  }
  return quoted + "\"";
}

struct WriteValue {
  std::string operator()(int64_t number) const { return fmt::format("{}", number); }
  std::string operator()(double number) const { return fmt::format("{}", number); }
  std::string operator()(std::string_view text) const { return quoted(text); }
};

std::string to_json(const TraceArgument& argument) {
  return quoted(argument.key) + ":" + std::visit(WriteValue{}, argument.value);
}

double to_nanoseconds(double us) { return std::round(1e3 * us); }

template <typename... Args>
void append(std::string& text, fmt::format_string<Args...> format, Args&&... args) {
  fmt::format_to(std::back_inserter(text), format, std::forward<Args>(args)...);
}

}  // namespace

void TraceEvents::begin_event() {
  if (!text_.empty()) text_ += ",\n";
}

void TraceEvents::name_process(int process, std::string_view name) {
  begin_event();
  append(text_, R"({{"name":"process_name","ph":"M","pid":{},"args":{{"name":{}}}}})", process,
         quoted(name));
}

void TraceEvents::name_track(TraceTrack track, std::string_view name) {
  begin_event();
  append(text_, R"({{"name":"thread_name","ph":"M","pid":{},"tid":{},"args":{{"name":{}}}}})",
         track.process, track.track, quoted(name));
}

void TraceEvents::add_slice(std::string_view name, std::string_view category, TraceTrack track,
                            double begin_us, double end_us,
                            std::span<const TraceArgument> arguments) {
  begin_event();
  const double begin = to_nanoseconds(begin_us), end = to_nanoseconds(end_us);
  append(text_,
         R"({{"name":{},"cat":{},"ph":"X","pid":{},"tid":{},"ts":{:.3f},"dur":{:.3f},"args":{{)",
         quoted(name), quoted(category), track.process, track.track, begin / 1e3,
         (end - begin) / 1e3);
  const char* separator = "";
  for (const TraceArgument& argument : arguments) {
    text_.append(separator).append(to_json(argument));
    separator = ",";
  }
  text_ += "}}";
}

void TraceEvents::add_count(std::string_view counter, int process, double at_us,
                            const TraceArgument& value) {
  begin_event();
  append(text_, R"({{"name":{},"ph":"C","pid":{},"ts":{:.3f},"args":{{{}}}}})", quoted(counter),
         process, to_nanoseconds(at_us) / 1e3, to_json(value));
}

void TraceEvents::add_arrow(ArrowEnd end, std::string_view id, TraceTrack track, double at_us) {
  begin_event();
  append(text_,
         R"({{"name":"message","cat":"message","ph":"{}","bp":"e","id":{},"pid":{},"tid":{},)"
         R"("ts":{:.3f}}})",
         end == ArrowEnd::Leaves ? "s" : "f", quoted(id), track.process, track.track,
         to_nanoseconds(at_us) / 1e3);
}

std::string trace_json(std::span<const std::string> events) {
  std::vector<std::string_view> written;  // a rank that did nothing has no events
  for (const std::string& each : events)
    if (!each.empty()) written.push_back(each);
  return fmt::format("{{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n{}\n]}}\n",
                     fmt::join(written, ",\n"));
}

}  // namespace tessera
