// SPDX-License-Identifier: Apache-2.0
#include "report/figures.h"

#include <algorithm>

#include "core/statistics.h"

namespace tessera {
namespace {

// Indices of the steps that count in means.
std::vector<size_t> counted(const RunRecord& record) {
  std::vector<size_t> warm, all;
  for (size_t i = 0; i < record.steps.size(); ++i) {
    all.push_back(i);
    if (!begins_start(record, record.steps[i].step)) warm.push_back(i);
  }
  return warm.empty() ? all : warm;
}

// Per counted step, including the time after the last step.
double between_steps(const RunRecord& record, const std::vector<size_t>& indices) {
  double seconds = 0;
  for (const size_t i : indices) seconds += seconds_before(record, i).value_or(0);
  const double last = record.steps.back().elapsed_seconds;
  if (!record.events.empty() && record.events.back().kind == "end" && known(last))
    seconds += std::max(0.0, record.events.back().elapsed_seconds - last);
  return seconds / static_cast<double>(indices.size());
}

// All counted steps as one, with the parts of the time that follow from the others.
StepRecord mean_of(const RunRecord& record, const std::vector<size_t>& indices) {
  std::vector<StepRecord> steps;
  for (const size_t i : indices) steps.push_back(record.steps[i]);
  StepRecord mean = combine(steps);
  StepTimes& times = mean.times;
  if (!known(mean.step_seconds)) times = kUnknownTimes;
  if (!times.known()) return mean;
  times.other_seconds = std::max(0.0, mean.step_seconds - times.step_seconds());
  times.between_steps_seconds = record.simulated() ? 0 : between_steps(record, indices);
  return mean;
}

Spent spent_on(const RunRecord& record, std::string_view kind) {
  Spent spent;
  for (const RecordedEvent& event : record.events) {
    if (event.kind != kind) continue;
    ++spent.times;
    spent.seconds += event.seconds;
    spent.bytes = event.bytes;
  }
  return spent;
}

}  // namespace

bool begins_start(const RunRecord& record, int64_t step) {
  if (step == record.steps.front().step) return true;
  return std::any_of(record.events.begin(), record.events.end(), [&](const RecordedEvent& event) {
    return event.kind == "start" && event.step + 1 == step;
  });
}

std::optional<double> seconds_before(const RunRecord& record, size_t index) {
  const StepRecord& step = record.steps[index];
  if (begins_start(record, step.step)) return {};
  const StepRecord& before = record.steps[index - 1];
  const double seconds = step.elapsed_seconds - before.elapsed_seconds - step.step_seconds;
  if (before.step + 1 != step.step || !known(seconds)) return {};
  return std::max(0.0, seconds);
}

std::optional<double> RunFigures::share(double seconds) const {
  if (!split() || split()->total_seconds() <= 0) return {};
  return known(seconds / split()->total_seconds());
}

bool ranks_share_cores(const RunRecord& record) {
  return record.facts && record.facts->device_unit == "cores" &&
         record.facts->ranks * record.facts->threads_per_rank > record.facts->device_count;
}

std::optional<double> compute_share_of_cores(const RunRecord& record, const RunFigures& figures) {
  if (!ranks_share_cores(record) || !figures.split()) return {};
  const RunFacts& facts = *record.facts;
  const double per_core = static_cast<double>(facts.ranks * facts.threads_per_rank) /
                          static_cast<double>(facts.device_count);
  return std::min(1.0, per_core * *figures.share(figures.split()->compute_seconds));
}

std::optional<double> RunFigures::checkpoint_share() const {
  if (checkpoints.times == 0 || !split() || counted_steps == 0) return {};
  return share(checkpoints.seconds / static_cast<double>(counted_steps));
}

RunFigures figures_of(const RunRecord& record) {
  const std::vector<size_t> indices = counted(record);
  RunFigures figures{.first_step = record.steps.front().step,
                     .last_step = record.steps.back().step,
                     .counted_steps = static_cast<int>(indices.size()),
                     .mean = mean_of(record, indices),
                     .checkpoints = spent_on(record, "checkpoint"),
                     .evaluations = spent_on(record, "evaluation"),
                     .samples = spent_on(record, "sample"),
                     .first_loss = known(record.steps.front().loss),
                     .last_loss = known(record.steps.back().loss)};
  std::vector<double> seconds;
  for (const size_t i : indices)
    if (known(record.steps[i].step_seconds)) seconds.push_back(record.steps[i].step_seconds);
  if (!seconds.empty()) {
    figures.median_step_seconds = median(seconds);
    figures.slowest_step_seconds = *std::max_element(seconds.begin(), seconds.end());
  }
  const StepRecord& mean = figures.mean;
  if (figures.split() && figures.split()->total_seconds() > 0)
    figures.all_tokens_per_second =
        known(mean.tokens_per_second * mean.step_seconds / figures.split()->total_seconds());
  for (const StepRecord& step : record.steps)
    if (known(step.held_out_loss)) figures.held_out_loss = step.held_out_loss;
  if (!record.facts) return figures;
  const RunFacts& facts = *record.facts;
  if (facts.flops_per_token.causal > 0)
    figures.mfu_full = known(mean.mfu * facts.flops_per_token.full / facts.flops_per_token.causal);
  for (const RankFacts& rank : facts.rank_classes) {
    figures.peak_bytes = std::max(figures.peak_bytes, rank.peak_bytes);
    figures.all_peak_bytes += rank.alike * rank.peak_bytes;
  }
  return figures;
}

}  // namespace tessera
