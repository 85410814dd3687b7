// SPDX-License-Identifier: Apache-2.0
// The question `history`: all steps of a run as columns, each figure's least and largest value in
// equal parts of the steps, so that a spike among a hundred thousand steps stays visible. `follow`
// goes on from the byte where it ends.
#include <algorithm>
#include <cmath>
#include <limits>

#include "record/scan_step.h"
#include "studio/columns.h"
#include "studio/kinds.h"
#include "studio/question_fields.h"
#include "studio/runs/run_files.h"
#include "studio/runs/run_folders.h"

namespace tessera {
namespace {

constexpr size_t kMostSteps = 4'000'000;
constexpr int64_t kMostParts = 2000;

// By step; of a step that was done again after a failure, the last.
std::vector<StepRecord> in_order(std::vector<StepRecord> steps) {
  std::ranges::stable_sort(steps, {}, &StepRecord::step);
  std::vector<StepRecord> once;
  for (StepRecord& step : steps) {
    if (!once.empty() && once.back().step == step.step) once.pop_back();
    once.push_back(std::move(step));
  }
  return once;
}

struct PartRange {
  size_t begin, end;
};

std::vector<PartRange> equal_parts(size_t count, size_t most) {
  const size_t parts = std::min(count, most);
  std::vector<PartRange> ranges;
  for (size_t part = 0; part < parts; ++part)
    ranges.push_back({part * count / parts, (part + 1) * count / parts});
  return ranges;
}

void add_figure(const StepField& field, std::span<const StepRecord> steps,
                std::span<const PartRange> parts, Columns& columns, Json& names) {
  std::vector<float> least, largest;
  bool any = false;
  for (const PartRange& part : parts) {
    double low = std::numeric_limits<double>::quiet_NaN(), high = low;
    for (const StepRecord& step : steps.subspan(part.begin, part.end - part.begin)) {
      low = std::fmin(low, field.of(step));  // which pass over what is not known
      high = std::fmax(high, field.of(step));
    }
    any = any || !std::isnan(low);
    least.push_back(static_cast<float>(low));
    largest.push_back(static_cast<float>(high));
  }
  if (!any) return;
  names.push_back(field.key);
  columns.add(fmt::format("{}.least", field.key), least);
  columns.add(fmt::format("{}.largest", field.key), largest);
}

}  // namespace

Answer answer_history(const Question& question) {
  require_known_fields(question.fields, {"run", "parts"});
  const FoundRun run = asked_run_folder(question, "run");
  const int64_t most = find_whole(question.fields, "parts", {1, kMostParts}).value_or(kMostParts);
  std::vector<StepRecord> steps;
  int64_t left_out = 0;
  const std::optional<FileState> file = run.folder.state_of(kMetricsFile);
  const int64_t end = read_lines(run.folder, kMetricsFile, 0, [&](std::string_view line) {
    const std::optional<StepRecord> step = scan_step(line);
    if (step && step->step > 0)
      steps.push_back(*step);
    else
      ++left_out;
    return steps.size() < kMostSteps;
  });
  steps = in_order(std::move(steps));
  const std::vector<PartRange> parts = equal_parts(steps.size(), static_cast<size_t>(most));
  Columns columns;
  Json names = Json::array();
  std::vector<uint32_t> last_steps;
  for (const PartRange& part : parts)
    last_steps.push_back(static_cast<uint32_t>(steps[part.end - 1].step));
  columns.add("step", last_steps);
  for (const StepField& field : step_fields()) add_figure(field, steps, parts, columns, names);
  return {.json = {{"run", run.id},
                   {"steps", steps.size()},
                   {"lines_left_out", left_out},
                   {"figures", names},
                   {"next", Json{{"metrics", end},
                                 {"metrics_file", std::to_string(file ? file->number : 0)}}},
                   {"columns", columns.list}},
          .columns = columns.bytes};
}

}  // namespace tessera
