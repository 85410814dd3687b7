// SPDX-License-Identifier: Apache-2.0
#include "studio/runs/run_files.h"

#include <algorithm>
#include <chrono>

#include "config/config.h"
#include "core/error.h"
#include "record/run_facts.h"
#include "record/scan_step.h"

namespace tessera {
namespace {

constexpr int64_t kChunkBytes = 4 << 20, kLongestLine = 1 << 20, kTailBytes = 64 << 10;
constexpr int64_t kMostEventBytes = 4 << 20, kMostConfigBytes = 1 << 20;
constexpr int kDeepestLine = 8;
constexpr double kSilentSeconds = 60;  // that a run which goes on may be without a new line

double seconds_since_1970() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::string text_member(const Json& json, std::string_view name) {
  const Json* found = json.find(name);
  return found && found->text() ? *found->text() : "";
}

// The last whole line that is a step.
std::optional<StepRecord> last_step(const ClosedFolder& folder, int64_t bytes) {
  const auto tail = folder.read(kMetricsFile, std::max<int64_t>(0, bytes - kTailBytes), kTailBytes);
  std::string_view text = tail ? std::string_view(*tail) : "";
  text = text.substr(0, text.rfind('\n') + 1);
  while (!text.empty()) {
    text.remove_suffix(1);
    const size_t begin = text.rfind('\n') + 1;  // 0 where there is no other line
    if (auto step = scan_step(text.substr(begin))) return step;
    text = text.substr(0, begin);
  }
  return {};
}

std::optional<int64_t> planned_steps(const ClosedFolder& folder) {
  const std::optional<std::string> text = folder.read("config.toml", 0, kMostConfigBytes);
  if (!text) return {};
  try {
    return parse_config(*text, "config.toml", {}).train.steps;
  } catch (const UserError&) {
    return {};  // of another version of tessera
  }
}

// What the events say, each over those before it.
Json state_by_events(const ClosedFolder& folder) {
  Json state = Json::object();
  const auto file = folder.state_of(kEventsFile);
  const int64_t begin = file ? std::max<int64_t>(0, file->bytes - kMostEventBytes) : 0;
  int starts = 0;
  state["state"] = "running";
  read_lines(folder, kEventsFile, begin, [&](std::string_view line) {
    const std::optional<Json> event = line_object(line);
    if (!event) return true;
    const std::string kind = text_member(*event, "event");
    if (kind == "start") {
      ++starts;
      state["state"] = "running";
      if (const Json* time = event->find("unix_time")) state["started_at"] = *time;
      if (const Json* json = event->find("facts"))
        if (const std::optional<RunFacts> facts = facts_of_json(*json)) {
          state["model"] = facts->model;
          state["mesh"] = facts->mesh;
          state["ranks"] = facts->ranks;
          state["source"] = facts->source;
        }
    } else if (kind == "end") {
      const std::string by = text_member(*event, "stopped_by");
      state["state"] = by.empty() ? "finished" : "stopped";
    } else if (kind == "failure") {
      state["state"] = "failed";
      state["failure"] = text_member(*event, "text");
    }
    return true;
  });
  state["starts"] = starts;
  return state;
}

}  // namespace

int64_t read_lines(const ClosedFolder& folder, const std::string& name, int64_t begin,
                   const std::function<bool(std::string_view line)>& line) {
  while (true) {
    const std::optional<std::string> chunk = folder.read(name, begin, kChunkBytes);
    if (!chunk || chunk->empty()) return begin;
    std::string_view rest = *chunk;
    for (size_t end = rest.find('\n'); end != std::string_view::npos; end = rest.find('\n')) {
      const std::string_view one = rest.substr(0, end);
      rest.remove_prefix(end + 1);
      begin += static_cast<int64_t>(end) + 1;
      if (!one.empty() && static_cast<int64_t>(one.size()) <= kLongestLine && !line(one))
        return begin;
    }
    const bool at_end = static_cast<int64_t>(chunk->size()) < kChunkBytes;
    if (at_end) return begin;
    if (rest.size() == chunk->size()) begin += kChunkBytes;  // inside of a line that has no end
  }
}

std::optional<Json> line_object(std::string_view line) {
  Json json;
  if (!parse_json(line, kDeepestLine, json).empty() || !json.is_object()) return {};
  return json;
}

Json summary_of(const ClosedFolder& folder) {
  Json summary = state_by_events(folder);
  const std::optional<FileState> metrics = folder.state_of(kMetricsFile);
  const std::optional<FileState> events = folder.state_of(kEventsFile);
  const double changed =
      std::max(metrics ? metrics->modified_at : 0, events ? events->modified_at : 0);
  summary["changed_at"] = changed;
  if (summary["state"] == "running" && seconds_since_1970() - changed > kSilentSeconds)
    summary["state"] = "silent";
  summary["steps"] = planned_steps(folder);
  summary["trace"] = folder.state_of("trace.json").has_value();
  const auto step = metrics ? last_step(folder, metrics->bytes) : std::nullopt;
  if (!step) return summary;
  summary["step"] = step->step;
  summary["loss"] = known(step->loss);
  summary["tokens_per_second"] = known(step->tokens_per_second);
  summary["mfu"] = known(step->mfu);
  return summary;
}

}  // namespace tessera
