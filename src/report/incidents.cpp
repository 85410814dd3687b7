// SPDX-License-Identifier: Apache-2.0
#include "report/incidents.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "core/statistics.h"
#include "report/figures.h"

namespace tessera {
namespace {

constexpr size_t kLeastSteps = 5;  // for a median

struct Part {
  const char* name;
  std::optional<double> RecordedStep::*seconds;
};
constexpr std::array<Part, 4> kParts{
    {{"compute", &RecordedStep::compute_seconds},
     {"exposed communication", &RecordedStep::exposed_communication_seconds},
     {"bubble", &RecordedStep::bubble_seconds},
     {"data", &RecordedStep::data_seconds}}};

std::vector<const RecordedStep*> warm_steps(const RunRecord& record) {
  std::vector<const RecordedStep*> steps;
  for (const RecordedStep& step : record.steps)
    if (step.step_seconds && !begins_start(record, step.step)) steps.push_back(&step);
  return steps;
}

std::optional<double> median_of(const std::vector<const RecordedStep*>& steps,
                                std::optional<double> RecordedStep::*member) {
  std::vector<double> values;
  for (const RecordedStep* step : steps)
    if (const auto& value = step->*member) values.push_back(*value);
  if (values.empty()) return {};
  return median(values);
}

std::string what_grew(const std::vector<const RecordedStep*>& steps, const RecordedStep& stalled) {
  std::string name;
  double most = 0;
  for (const Part& part : kParts) {
    const auto usual = median_of(steps, part.seconds);
    const auto& now = stalled.*part.seconds;
    if (!usual || !now || *now - *usual <= most) continue;
    most = *now - *usual;
    name = part.name;
  }
  return name;
}

}  // namespace

std::vector<Stall> stalls_of(const RunRecord& record) {
  const std::vector<const RecordedStep*> steps = warm_steps(record);
  if (steps.size() < kLeastSteps) return {};
  const double usual = *median_of(steps, &RecordedStep::step_seconds);
  std::vector<Stall> stalls;
  for (const RecordedStep* step : steps)
    if (*step->step_seconds > kStallOverMedian * usual)
      stalls.push_back({.step = step->step,
                        .seconds = *step->step_seconds,
                        .times_median = *step->step_seconds / usual,
                        .grew = what_grew(steps, *step)});
  std::stable_sort(stalls.begin(), stalls.end(),
                   [](const Stall& a, const Stall& b) { return a.seconds > b.seconds; });
  return stalls;
}

std::vector<std::string> failures_of(const RunRecord& record) {
  std::vector<std::string> sentences;
  bool running = false, broken = false;
  std::string stopped;  // on request; a failure only if the run was not resumed
  for (const RecordedEvent& event : record.events) {
    if (event.kind == "start") {
      if (running)
        sentences.emplace_back("was killed, or the machine went down: a start has no end");
      if (event.step > 0 && (running || broken))
        sentences.push_back(fmt::format("resumed after step {}", event.step));
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
                                  [](const RecordedStep& step) { return !step.loss; });
  if (lost > 0 && !record.simulated())
    sentences.push_back(
        fmt::format("has {} step{} whose loss is not finite", lost, lost == 1 ? "" : "s"));
  if (record.lines_left_out > 0)
    sentences.push_back(
        fmt::format("has {} line{} in its record that cannot be read: truncated, and skipped",
                    record.lines_left_out, record.lines_left_out == 1 ? "" : "s"));
  return sentences;
}

}  // namespace tessera
