// SPDX-License-Identifier: Apache-2.0
#include "report/figures.h"

#include <algorithm>

#include "core/statistics.h"

namespace tessera {
namespace {

using StepNumber = std::optional<double> RecordedStep::*;

// Indices of the steps that count in means.
std::vector<size_t> counted(const RunRecord& record) {
  std::vector<size_t> warm, all;
  for (size_t i = 0; i < record.steps.size(); ++i) {
    all.push_back(i);
    if (!begins_start(record, record.steps[i].step)) warm.push_back(i);
  }
  return warm.empty() ? all : warm;
}

class Means {
 public:
  Means(const RunRecord& record, const std::vector<size_t>& indices)
      : record_(record), indices_(indices) {}

  std::vector<double> values(StepNumber member) const {
    std::vector<double> values;
    for (const size_t i : indices_)
      if (const auto& value = record_.steps[i].*member) values.push_back(*value);
    return values;
  }
  std::optional<double> mean(StepNumber member) const {
    const std::vector<double> all = values(member);
    if (all.empty()) return {};
    double sum = 0;
    for (const double value : all) sum += value;
    return sum / static_cast<double>(all.size());
  }
  // Each step is weighted by its seconds, as a rate must be.
  std::optional<double> rate(StepNumber member) const {
    double sum = 0, seconds = 0;
    for (const size_t i : indices_) {
      const RecordedStep& step = record_.steps[i];
      if (!(step.*member) || !step.step_seconds) continue;
      sum += *(step.*member) * *step.step_seconds;
      seconds += *step.step_seconds;
    }
    if (seconds <= 0) return {};
    return sum / seconds;
  }

 private:
  const RunRecord& record_;
  const std::vector<size_t>& indices_;
};

// Per counted step, including the time after the last step.
double between_steps(const RunRecord& record, const std::vector<size_t>& indices) {
  double seconds = 0;
  for (const size_t i : indices) seconds += seconds_before(record, i).value_or(0);
  const RecordedStep& last = record.steps.back();
  if (!record.events.empty() && record.events.back().kind == "end" && last.elapsed_seconds)
    seconds += std::max(0.0, record.events.back().elapsed_seconds - *last.elapsed_seconds);
  return seconds / static_cast<double>(indices.size());
}

std::optional<TimeSplit> split_of(const RunRecord& record, const std::vector<size_t>& indices,
                                  const Means& means) {
  const auto step = means.mean(&RecordedStep::step_seconds);
  const auto compute = means.mean(&RecordedStep::compute_seconds);
  const auto exposed = means.mean(&RecordedStep::exposed_communication_seconds);
  const auto bubble = means.mean(&RecordedStep::bubble_seconds);
  if (!step || !compute || !exposed || !bubble) return {};
  const double data = means.mean(&RecordedStep::data_seconds).value_or(0);
  return TimeSplit{.compute = *compute,
                   .exposed_communication = *exposed,
                   .bubble = *bubble,
                   .data = data,
                   .other_in_step = std::max(0.0, *step - *compute - *exposed - *bubble - data),
                   .between_steps = record.simulated() ? 0 : between_steps(record, indices)};
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
  const RecordedStep& step = record.steps[index];
  if (begins_start(record, step.step)) return {};
  const RecordedStep& before = record.steps[index - 1];
  if (before.step + 1 != step.step || !before.elapsed_seconds || !step.elapsed_seconds ||
      !step.step_seconds)
    return {};
  return std::max(0.0, *step.elapsed_seconds - *before.elapsed_seconds - *step.step_seconds);
}

std::optional<double> RunFigures::share(double seconds) const {
  if (!split || split->total() <= 0) return {};
  return seconds / split->total();
}

bool ranks_share_cores(const RunRecord& record) {
  return record.facts && record.facts->device_unit == "cores" &&
         record.facts->ranks * record.facts->threads_per_rank > record.facts->device_count;
}

std::optional<double> compute_share_of_cores(const RunRecord& record, const RunFigures& figures) {
  if (!ranks_share_cores(record) || !figures.split) return {};
  const RunFacts& facts = *record.facts;
  const double per_core = static_cast<double>(facts.ranks * facts.threads_per_rank) /
                          static_cast<double>(facts.device_count);
  return std::min(1.0, per_core * *figures.share(figures.split->compute));
}

std::optional<double> RunFigures::checkpoint_share() const {
  if (checkpoints.times == 0 || !split || counted_steps == 0) return {};
  return share(checkpoints.seconds / static_cast<double>(counted_steps));
}

RunFigures figures_of(const RunRecord& record) {
  const std::vector<size_t> indices = counted(record);
  const Means means(record, indices);
  RunFigures figures{.first_step = record.steps.front().step,
                     .last_step = record.steps.back().step,
                     .counted_steps = static_cast<int>(indices.size()),
                     .step_seconds = means.mean(&RecordedStep::step_seconds),
                     .tokens_per_second = means.rate(&RecordedStep::tokens_per_second),
                     .mfu = means.rate(&RecordedStep::mfu),
                     .hfu = means.rate(&RecordedStep::hfu),
                     .split = split_of(record, indices, means),
                     .data_recorded = !means.values(&RecordedStep::data_seconds).empty(),
                     .checkpoints = spent_on(record, "checkpoint"),
                     .evaluations = spent_on(record, "evaluation"),
                     .samples = spent_on(record, "sample"),
                     .first_loss = record.steps.front().loss,
                     .last_loss = record.steps.back().loss};
  const std::vector<double> seconds = means.values(&RecordedStep::step_seconds);
  if (!seconds.empty()) {
    figures.median_step_seconds = median(seconds);
    figures.slowest_step_seconds = *std::max_element(seconds.begin(), seconds.end());
  }
  if (figures.tokens_per_second && figures.split && figures.split->total() > 0)
    figures.all_tokens_per_second =
        *figures.tokens_per_second * *figures.step_seconds / figures.split->total();
  for (const RecordedStep& step : record.steps)
    if (step.held_out_loss) figures.held_out_loss = step.held_out_loss;
  if (!record.facts) return figures;
  const RunFacts& facts = *record.facts;
  if (figures.mfu && facts.flops_per_token.causal > 0)
    figures.mfu_full = *figures.mfu * facts.flops_per_token.full / facts.flops_per_token.causal;
  for (const RankFacts& rank : facts.rank_classes) {
    figures.peak_bytes = std::max(figures.peak_bytes, rank.peak_bytes);
    figures.all_peak_bytes += rank.alike * rank.peak_bytes;
  }
  return figures;
}

}  // namespace tessera
