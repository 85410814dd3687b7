// SPDX-License-Identifier: Apache-2.0
#include "record/run_recorder.h"

#include <fstream>
#include <utility>

#include "files/json.h"
#include "system/seconds_since.h"

namespace tessera {
namespace {

// Steps ascend: lines after the step are at the end.
bool is_rank_line_up_to(std::string_view line, int64_t step) {
  const std::optional<RankLine> parsed = parse_rank_line(line);
  return parsed && parsed->step <= step;
}

constexpr size_t kLongestCause = 300;

// To the millisecond.
double seconds_of(std::chrono::system_clock::duration time) {
  constexpr double kPerSecond = 1000;
  const auto whole = std::chrono::duration_cast<std::chrono::milliseconds>(time).count();
  return static_cast<double>(whole) / kPerSecond;
}

// What ended the start before this one, by the failure report that followed its last step: "rank 0
// was killed". Empty where there is none.
std::string cause_of_interruption(const std::filesystem::path& folder) {
  std::error_code none;
  const auto told = std::filesystem::last_write_time(folder / "failure.txt", none);
  if (none) return "";
  const auto last_step = std::filesystem::last_write_time(folder / "metrics.jsonl", none);
  if (none || told < last_step) return "";
  std::ifstream file(folder / "failure.txt");
  std::string cause;
  std::getline(file, cause);
  constexpr std::string_view kKilled = " was ended by signal 9 (Killed)";
  if (cause.ends_with(kKilled))
    cause = cause.substr(0, cause.size() - kKilled.size()) + " was killed";
  return cause.substr(0, kLongestCause);
}

}  // namespace

RunRecorder::RunRecorder(const std::filesystem::path& folder, const RunFacts& facts,
                         std::optional<int64_t> resumed_step, const Warn& warn, LineSink sink)
    : sink_(std::move(sink)),
      interrupted_by_(resumed_step ? cause_of_interruption(folder) : ""),
      metrics_(folder / "metrics.jsonl", resumed_step, warn),
      events_(folder / "events.jsonl", resumed_step.has_value(), warn) {
  if (facts.ranks > 1 || std::filesystem::exists(folder / kRanksFile))
    ranks_.emplace(folder / kRanksFile, resumed_step.has_value(), warn,
                   [&](std::string_view line) { return is_rank_line_up_to(line, *resumed_step); });
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  Json start{
      {"event", "start"}, {"step", resumed_step.value_or(0)}, {"unix_time", seconds_of(now)}};
  if (!interrupted_by_.empty()) start["interrupted_by"] = interrupted_by_;
  if (const std::map<int64_t, double>& dropped = metrics_.dropped(); !dropped.empty()) {
    double seconds = 0;
    for (const auto& [step, step_seconds] : dropped) seconds += step_seconds;
    start["dropped_steps"] = dropped.size();
    start["dropped_seconds"] = seconds;
  }
  start["facts"] = to_json(facts);
  event(start);
}

void RunRecorder::event(const Json& json) {
  const std::string line = json.dump();
  events_.write(line);
  if (sink_) sink_(line);
}

void RunRecorder::step(const StepRecord& record) {
  const std::string line = to_json_line(record);
  metrics_.write_line(line);
  if (sink_) sink_(line);
}

double RunRecorder::elapsed_seconds() const { return seconds_since(begin_); }

void RunRecorder::ranks(int64_t step, std::span<const RankTimes> times, bool line) {
  if (!ranks_ || times.size() < 2) return;
  rank_sums_.add(times);
  if (line) ranks_->write(to_json_line(rank_sums_.take(step)));
}

void RunRecorder::peak(double flops_per_second, std::string_view arithmetic, bool measured) {
  Json json{{"event", "peak"}, {"flops_per_second", flops_per_second}, {"measured", measured}};
  if (!arithmetic.empty()) json["arithmetic"] = arithmetic;
  event(json);
}

void RunRecorder::spent(const char* what, int64_t step, double seconds, int64_t bytes) {
  Json json{{"event", what}, {"step", step}, {"seconds", seconds}};
  if (bytes > 0) json["bytes"] = bytes;
  event(json);
}

void RunRecorder::grew_room(int64_t step, double need, double room, double seconds) {
  event({{"event", "expert_room"},
         {"step", step},
         {"need", need},
         {"room", room},
         {"seconds", seconds}});
}

void RunRecorder::saved(const SaveOutcome& outcome) {
  Json json{{"event", outcome.saved ? "saved" : "save_failed"},
            {"step", outcome.step},
            {"written_seconds", outcome.seconds}};
  if (outcome.bytes > 0) json["bytes"] = outcome.bytes;
  if (!outcome.error.empty()) json["text"] = outcome.error;
  event(json);
}

void RunRecorder::failed(int64_t step, const std::string& text) {
  event({{"event", "failure"},
         {"step", step},
         {"text", text},
         {"elapsed_seconds", elapsed_seconds()}});
}

void RunRecorder::serves(uint16_t port) { event({{"event", "metrics"}, {"port", port}}); }

void RunRecorder::ended(int64_t step, const std::string& stopped_by) {
  Json json{{"event", "end"}, {"step", step}, {"elapsed_seconds", elapsed_seconds()}};
  if (!stopped_by.empty()) json["stopped_by"] = stopped_by;
  event(json);
}

std::vector<std::string> RunRecorder::losses() const {
  std::vector<std::string> losses;
  for (std::string each :
       {metrics_.losses(), events_.losses(), ranks_ ? ranks_->losses() : std::string()})
    if (!each.empty()) losses.push_back(std::move(each));
  return losses;
}

namespace {

// Steps ascend: lines after the step are at the end.
bool is_line_up_to(std::string_view line, int64_t step, std::map<int64_t, double>& dropped) {
  const std::optional<StepRecord> record = parse_step(line);
  if (!record || record->step <= 0) return false;
  if (record->step > step) dropped[record->step] = known(record->step_seconds).value_or(0);
  return record->step <= step;
}

}  // namespace

MetricsWriter::MetricsWriter(const std::filesystem::path& path, std::optional<int64_t> resumed_step,
                             Warn warn)
    : file_(path, resumed_step.has_value(), std::move(warn),
            [&](std::string_view line) { return is_line_up_to(line, *resumed_step, dropped_); }) {}

}  // namespace tessera
