// SPDX-License-Identifier: Apache-2.0
// What a report draws: over steps for a run, by class of ranks for a simulation.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/report.h"

namespace tessera {
namespace {

constexpr size_t kMostPoints = 360;

using StepNumber = double StepRecord::*;

std::vector<double> step_numbers(const RunRecord& record) {
  std::vector<double> numbers;
  for (const StepRecord& step : record.steps) numbers.push_back(static_cast<double>(step.step));
  return numbers;
}

std::vector<double> values_of(const RunRecord& record, StepNumber member) {
  std::vector<double> values;
  for (const StepRecord& step : record.steps) values.push_back(step.*member);
  return values;
}

std::vector<double> values_of(const RunRecord& record, double StepTimes::*part) {
  std::vector<double> values;
  for (const StepRecord& step : record.steps) values.push_back(step.times.*part);
  return values;
}

bool any(const std::vector<double>& values) {
  return std::any_of(values.begin(), values.end(), [](double value) { return !std::isnan(value); });
}

Plot over_steps(const RunRecord& record, std::string title, std::string y_label,
                std::vector<PlotSeries> series) {
  return {.title = std::move(title),
          .x_label = "step",
          .y_label = std::move(y_label),
          .kind = PlotKind::Lines,
          .x = step_numbers(record),
          .series = std::move(series)};
}

// The parts of every step; the time before it counts as other.
std::vector<PlotSeries> parts_of(const RunRecord& record) {
  std::vector<PlotSeries> parts;
  for (const TimePart& part : kTimeParts)
    if (part.recorded) parts.push_back({part.label, values_of(record, part.seconds)});
  PlotSeries other{"other", {}};
  for (size_t i = 0; i < record.steps.size(); ++i) {
    double rest = known(record.steps[i].step_seconds).value_or(0);
    for (const PlotSeries& part : parts) rest -= known(part.values[i]).value_or(0);
    other.values.push_back(std::max(0.0, rest) + seconds_before(record, i).value_or(0));
  }
  parts.push_back(std::move(other));
  return parts;
}

Plot split_plot(const RunRecord& record) {
  Plot plot = over_steps(record, "Where the time of each step went", "seconds", parts_of(record));
  plot.kind = PlotKind::Stacked;
  return thinned(plot, kMostPoints);
}

Plot share_plot(const RunRecord& record) {
  // Coloured as in the plot of all parts.
  std::vector<PlotSeries> shares{
      {"exposed communication", values_of(record, &StepTimes::exposed_communication_seconds), 1},
      {"bubble", values_of(record, &StepTimes::bubble_seconds), 2}};
  for (PlotSeries& series : shares)
    for (size_t i = 0; i < series.values.size(); ++i)
      series.values[i] *= 100 / record.steps[i].step_seconds;
  return thinned(over_steps(record, "Waiting", "% of the step", std::move(shares)), kMostPoints);
}

// A bar for each class of identical ranks, or for each rank if there are few.
Plot by_rank(const RunFacts& facts, std::string title, std::string y_label) {
  Plot plot{.title = std::move(title),
            .x_label = "rank",
            .y_label = std::move(y_label),
            .kind = PlotKind::Bars,
            .x = {},
            .series = {}};
  for (const RankFacts& rank : facts.rank_classes) plot.x.push_back(rank.rank);
  if (!facts.rank_classes.empty() && facts.rank_classes.front().alike > 1)
    plot.x_label =
        fmt::format("rank, the first of {} identical ones", facts.rank_classes.front().alike);
  return plot;
}

Plot memory_plot(const RunFacts& facts, int64_t most_bytes) {
  const bool small = most_bytes < 1'000'000'000;
  const double unit = small ? 1e6 : 1e9;
  Plot plot = by_rank(facts, "Planned memory of a rank", small ? "MB" : "GB");
  plot.series = {{"peak", {}}};
  for (const RankFacts& rank : facts.rank_classes)
    plot.series[0].values.push_back(static_cast<double>(rank.peak_bytes) / unit);
  if (facts.device_memory_bytes > 0) {
    plot.limit = facts.device_memory_bytes / unit;
    plot.limit_name = "the device's memory";
  }
  return plot;
}

Plot rank_times_plot(const RunFacts& facts) {
  Plot plot = by_rank(facts, "Where the time of each rank went", "seconds");
  for (const TimePart& part : kTimeParts) {
    if (part.scope != TimeScope::Program) continue;
    plot.series.push_back({part.label, {}});
    for (const RankFacts& rank : facts.rank_classes)
      plot.series.back().values.push_back(rank.times.*part.seconds);
  }
  return plot;
}

}  // namespace

std::vector<Plot> plots_of(const Report& report) {
  const RunRecord& record = report.record;
  const bool mlp = record.config && preset_name(*record.config) == "mlp";
  std::vector<Plot> plots;
  std::vector<PlotSeries> losses{{"training loss", values_of(record, &StepRecord::loss)}};
  const std::vector<double> held_out = values_of(record, &StepRecord::held_out_loss);
  if (any(held_out)) losses.push_back({"held-out loss", held_out});
  if (any(losses[0].values)) {
    Plot loss = over_steps(record, "Loss", mlp ? "squared error" : "loss, nats per token",
                           std::move(losses));
    loss.from_zero = false;
    plots.push_back(thinned(std::move(loss), kMostPoints));
  }
  if (!record.simulated()) {
    plots.push_back(
        thinned(over_steps(record, "Speed", "tokens per second",
                           {{"tokens/s", values_of(record, &StepRecord::tokens_per_second)}}),
                kMostPoints));
    if (report.figures.split()) {
      plots.push_back(split_plot(record));
      plots.push_back(share_plot(record));
    }
  }
  if (const auto violation = values_of(record, &StepRecord::load_violation); any(violation))
    plots.push_back(thinned(over_steps(record, "Balance of experts", "largest load / mean - 1",
                                       {{"most uneven layer", violation}}),
                            kMostPoints));
  if (record.simulated()) plots.push_back(rank_times_plot(*record.facts));
  if (record.facts && !record.facts->rank_classes.empty())
    plots.push_back(memory_plot(*record.facts, report.figures.peak_bytes));
  return plots;
}

}  // namespace tessera
