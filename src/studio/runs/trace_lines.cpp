// SPDX-License-Identifier: Apache-2.0
#include "studio/runs/trace_lines.h"

#include "files/json.h"

namespace tessera {
namespace {

constexpr int kDeepestEvent = 4;
constexpr int64_t kMostRanks = 1 << 20, kMostNumber = int64_t{1} << 31;
constexpr double kMostSeconds = 1e9, kSecondsPerMicrosecond = 1e-6;

std::string text_in(const Json& object, std::string_view name) {
  const Json* found = object.find(name);
  return found && found->text() ? *found->text() : "";
}

// Nothing where it is missing, no whole number, or not below `end`.
std::optional<int64_t> whole_in(const Json& object, std::string_view name, int64_t end) {
  const Json* found = object.find(name);
  const std::optional<int64_t> number = found ? found->integer() : std::nullopt;
  return number && *number >= 0 && *number < end ? number : std::nullopt;
}

std::optional<double> seconds_in(const Json& object, std::string_view name) {
  const Json* found = object.find(name);
  const std::optional<double> number = found ? found->number() : std::nullopt;
  if (!number) return {};
  const double seconds = *number * kSecondsPerMicrosecond;
  return seconds >= 0 && seconds <= kMostSeconds ? std::optional(seconds) : std::nullopt;
}

}  // namespace

std::optional<TracedSlice> parse_trace_line(std::string_view line) {
  if (line.ends_with(',')) line.remove_suffix(1);
  Json event;
  if (!parse_json(line, kDeepestEvent, event).empty() || !event.is_object()) return {};
  const std::string category = text_in(event, "cat");
  if (text_in(event, "ph") != "X" || (category != "kernel" && category != "collective")) return {};
  const auto rank = whole_in(event, "pid", kMostRanks);
  const auto begin = seconds_in(event, "ts"), length = seconds_in(event, "dur");
  const Json* about = event.find("args");
  if (!rank || !begin || !length || !about) return {};
  TracedSlice slice{.rank = *rank,
                    .transfers = category == "collective",
                    .begin_seconds = *begin,
                    .end_seconds = *begin + *length};
  const auto step = whole_in(*about, "step", kMostNumber);
  const auto call = whole_in(*about, "call", kMostNumber);
  const auto index = whole_in(*about, "index", kMostNumber);
  const auto microbatch = whole_in(*about, "microbatch", kMostNumber);
  if (!step || !call || !index || !microbatch) return slice;
  slice.step = *step;
  slice.call = *call;
  slice.index = *index;
  slice.microbatch = *microbatch;
  slice.program_class = text_in(*about, "class");
  slice.routine = text_in(*about, "routine");
  slice.block = text_in(*about, "block");
  return slice;
}

}  // namespace tessera
