// SPDX-License-Identifier: Apache-2.0
#include "report/incidents.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "core/statistics.h"
#include "report/figure_text.h"
#include "report/figures.h"

namespace tessera {
namespace {

constexpr size_t kLeastSteps = 5;  // for a median

std::vector<StepRecord> warm_steps(const RunRecord& record) {
  std::vector<StepRecord> steps;
  for (const StepRecord& step : record.steps)
    if (known(step.step_seconds) && !begins_start(record, step.step)) steps.push_back(step);
  return steps;
}

// Of what is known; NaN where nothing is.
double median_of(const std::vector<StepRecord>& steps,
                 const std::function<double(const StepRecord&)>& value) {
  std::vector<double> values;
  for (const StepRecord& step : steps)
    if (known(value(step))) values.push_back(value(step));
  return values.empty() ? kUnknown : median(values);
}

std::string what_grew(const std::vector<StepRecord>& steps, const StepRecord& stalled) {
  std::string name;
  double most = 0;
  for (const TimePart& part : kTimeParts) {
    if (!part.recorded) continue;
    const double usual =
        median_of(steps, [&](const StepRecord& step) { return step.times.*part.seconds; });
    const double grown = stalled.times.*part.seconds - usual;
    if (!known(grown) || grown <= most) continue;
    most = grown;
    name = part.label;
  }
  return name;
}

}  // namespace

std::vector<Stall> stalls_of(const RunRecord& record) {
  const std::vector<StepRecord> steps = warm_steps(record);
  if (steps.size() < kLeastSteps) return {};
  const double usual = median_of(steps, [](const StepRecord& step) { return step.step_seconds; });
  std::vector<Stall> stalls;
  for (const StepRecord& step : steps)
    if (step.step_seconds > kStallOverMedian * usual)
      stalls.push_back({.step = step.step,
                        .seconds = step.step_seconds,
                        .times_median = step.step_seconds / usual,
                        .grew = what_grew(steps, step)});
  std::stable_sort(stalls.begin(), stalls.end(),
                   [](const Stall& a, const Stall& b) { return a.seconds > b.seconds; });
  return stalls;
}

namespace {

// What a start says of the one before it, which broke off: "was interrupted after step 55 (rank 0
// was killed) and resumed from step 40: 15 steps computed again, 2.1 s lost".
std::string interruption(const RecordedEvent& start, bool is_told) {
  std::string text = start.dropped_steps > 0 ? fmt::format("was interrupted after step {}",
                                                           start.step + start.dropped_steps)
                                             : std::string("was interrupted");
  if (!start.text.empty())
    text += fmt::format(" ({})", start.text);
  else if (!is_told)
    text += " (it was killed, or the machine went down: a start has no end)";
  text += start.step > 0 ? fmt::format(" and resumed from step {}", start.step)
                         : std::string(" and began again");
  if (start.dropped_steps > 0)
    text += fmt::format(": {} step{} computed again, {} lost", start.dropped_steps,
                        start.dropped_steps == 1 ? "" : "s", seconds_text(start.dropped_seconds));
  return text;
}

}  // namespace

std::vector<std::string> failures_of(const RunRecord& record) {
  std::vector<std::string> sentences;
  bool running = false, broken = false;
  std::string stopped;  // on request; a failure only if the run was not resumed
  for (const RecordedEvent& event : record.events) {
    if (event.kind == "start") {
      // The failure and its resume are one sentence where the start knows what broke off.
      if (broken && !event.text.empty()) sentences.pop_back();
      if (running || broken) sentences.push_back(interruption(event, broken));
      running = true;
      broken = false;
      stopped.clear();
    } else if (event.kind == "failure") {
      sentences.push_back(fmt::format("failed at step {}: {}", event.step, event.text));
      running = false;
      broken = true;
    } else if (event.kind == "end") {
      if (!event.text.empty())
        stopped = fmt::format("stopped by {} after step {}", event.text, event.step);
      running = false;
    }
  }
  if (!stopped.empty()) sentences.push_back(stopped);
  if (running && !record.simulated())
    sentences.emplace_back("has not ended: it still runs, or was killed");
  const auto lost = std::count_if(record.steps.begin(), record.steps.end(),
                                  [](const StepRecord& step) { return !known(step.loss); });
  if (lost > 0 && !record.simulated())
    sentences.push_back(
        fmt::format("has {} step{} whose loss is not finite", lost, lost == 1 ? "" : "s"));
  if (record.lines_left_out > 0)
    sentences.push_back(
        fmt::format("has {} line{} in its record that cannot be read: truncated, and skipped",
                    record.lines_left_out, record.lines_left_out == 1 ? "" : "s"));
  return sentences;
}

bool came_back(const RunRecord& record) {
  size_t resumes = 0;
  bool running = false, broken = false, ended = false;
  for (const RecordedEvent& event : record.events) {
    if (event.kind == "start") {
      if (running || broken) ++resumes;
      running = true;
      broken = ended = false;
    } else if (event.kind == "failure" || event.kind == "end") {
      running = false;
      broken = event.kind == "failure";
      ended = event.kind == "end" && event.text.empty();
    }
  }
  const bool is_whole =
      record.lines_left_out == 0 && std::ranges::all_of(record.steps, [](const StepRecord& step) {
        return known(step.loss).has_value();
      });
  return resumes > 0 && ended && is_whole;
}

}  // namespace tessera
