// SPDX-License-Identifier: Apache-2.0
// How `tessera plan` prints a whole run.
#include <fmt/format.h>

#include <cmath>

#include "cli/whole_run_options.h"
#include "core/quantities.h"

namespace tessera {
namespace {

constexpr double kSecondsPerHour = 3600, kSecondsPerDay = 86400;

// "2.5 days", "9.1 h", "42 s"
std::string period_text(double seconds) {
  if (seconds >= kSecondsPerDay) return fmt::format("{:.4g} days", seconds / kSecondsPerDay);
  if (seconds >= kSecondsPerHour) return fmt::format("{:.3g} h", seconds / kSecondsPerHour);
  return seconds >= 60 ? fmt::format("{:.3g} min", seconds / 60) : fmt::format("{:.3g} s", seconds);
}

// 1,234,567
std::string grouped(double number) {
  std::string text = fmt::format("{:.0f}", number);
  for (auto at = static_cast<int64_t>(text.size()) - 3; at > 0; at -= 3)
    text.insert(static_cast<size_t>(at), ",");
  return text;
}

void print_figures(const WholeRunOptions& options, const RunConditions& conditions) {
  fmt::print("\nfigures of the run:\n");
  for (size_t i = 0; i < condition_rows().size(); ++i) {
    const ConditionRow& row = condition_rows()[i];
    const bool given = !options.conditions[i].empty();
    fmt::print("  {:<11} {:>9}  {}; {}\n", row.name,
               given ? options.conditions[i] : std::string(row.usual), row.summary,
               given ? std::string("given") : fmt::format("default: {}", row.source));
  }
  for (const SlowdownRow& row : slowdown_rows()) {
    const Slowdown& slow = conditions.*row.slowdown;
    if (slow.between_seconds > 0)
      fmt::print("  {:<11} {:>9}  every {} of a rank steps take {:g} times as long, for {}\n",
                 row.name, "", period_text(slow.between_seconds), slow.factor,
                 period_text(slow.lasts_seconds));
  }
}

void print_losses(const WholeRunPlan& plan) {
  const double all = plan.forecast.mean_seconds();
  fmt::print("\n{:>8} {:>11}\n{:>7.2f}% {:>11}  productive: every step once, at full speed\n",
             "share", "time", 100 * goodput(plan.run, all), period_text(plan.run.work_seconds()));
  for (const LossRow& row : kLosses) {
    const double lost =
        plan.forecast.mean([&](const SimulatedRun& each) { return each.lost(row.kind); });
    if (lost > 0)
      fmt::print("{:>7.2f}% {:>11}  {}\n", 100 * lost / all, period_text(lost), row.summary);
  }
}

void print_cadence(const WholeRunPlan& plan, bool given) {
  const RunForecast& found = plan.forecast;
  const auto steps = static_cast<double>(found.choices.save_every);
  fmt::print("checkpoints        every {} steps ({}){}", found.choices.save_every,
             period_text(steps * plan.run.step_seconds), given ? ", given" : "");
  if (std::isfinite(found.daly_seconds))
    fmt::print("; by Young {}, by Daly {}", period_text(found.young_seconds),
               period_text(found.daly_seconds));
  fmt::print("\n");
}

void print_events(const RunForecast& found) {
  const auto add = [&](const char* what, int64_t SimulatedRun::*of) {
    const double mean =
        found.mean([of](const SimulatedRun& each) { return static_cast<double>(each.*of); });
    if (mean > 0) fmt::print("{:<18} {:.4g} expected\n", what, mean);
  };
  add("failures", &SimulatedRun::failures);
  add("slow nodes", &SimulatedRun::slow_nodes);
  add("stragglers", &SimulatedRun::stragglers);
  add("planned stops", &SimulatedRun::planned);
}

}  // namespace

void print_whole_run(const WholeRunOptions& options, const WholeRunTask& task,
                     const WholeRunPlan& plan) {
  const WholeRun& run = plan.run;
  const RunForecast& found = plan.forecast;
  fmt::print("\na whole run of {} tokens: {} steps of {:.4g} s on {} ranks\n", options.tokens,
             grouped(static_cast<double>(run.steps)), run.step_seconds, run.ranks);
  fmt::print("days               {:.4g} ({:.4g} to {:.4g} in nine of ten of {} simulated runs)\n",
             plan.days(), found.seconds_at(0.05) / kSecondsPerDay,
             found.seconds_at(0.95) / kSecondsPerDay, found.runs.size());
  fmt::print(
      "goodput            {:.2f} % ({:.2f} to {:.2f}); {:.2f} % in closed form, of failures "
      "alone\n",
      100 * goodput(run, found.mean_seconds()), 100 * goodput(run, found.seconds_at(0.95)),
      100 * goodput(run, found.seconds_at(0.05)), 100 * goodput(run, found.expected_seconds));
  print_events(found);
  print_cadence(plan, options.save_every.has_value());
  fmt::print("spare nodes        {} of {} rank{}{}\n", found.choices.spare_nodes,
             run.conditions.node_ranks, run.conditions.node_ranks == 1 ? "" : "s",
             options.spare_nodes ? ", given" : "");
  fmt::print("rank hours         {} of {} ranks{}\n", grouped(plan.rank_hours()), plan.paid_ranks(),
             plan.paid_ranks() > run.ranks ? ", with the spares" : "");
  if (plan.price_per_rank_hour > 0)
    fmt::print("price              {} at {:g} an hour of a rank\n", grouped(plan.price()),
               plan.price_per_rank_hour);
  print_losses(plan);
  print_figures(options, task.conditions);
}

void print_sensitivities(const std::vector<Sensitivity>& rows) {
  fmt::print("\ngoodput if one figure is other than above:\n{:<11}", "");
  for (const double factor : kSensitivityFactors)
    fmt::print(" {:>8}", fmt::format("x {:g}", factor));
  fmt::print("\n");
  for (const Sensitivity& row : rows) {
    fmt::print("{:<11}", row.name);
    for (const double share : row.goodput)
      fmt::print(" {:>8}", share < 0 ? std::string("none") : fmt::format("{:.2f} %", 100 * share));
    fmt::print("\n");
  }
}

void print_rank_counts(const std::vector<RankCount>& counts) {
  fmt::print("\n{:>7} {:>9} {:>8} {:>9} {:>9} {:>14} {:>14} {:>7}  {}\n", "ranks", "step s", "days",
             "goodput", "failures", "rank hours", "price", "added", "plan");
  for (size_t row = 0; row < counts.size(); ++row) {
    const RankCount& each = counts[row];
    if (!each.run) {
      fmt::print("{:>7} {}\n", each.ranks, each.problem);
      continue;
    }
    const WholeRunPlan& plan = *each.run;
    const RunForecast& found = plan.forecast;
    const std::optional<double> share = added_share(counts, row);
    fmt::print(
        "{:>7} {:>9.4g} {:>8.4g} {:>7.2f} % {:>9.4g} {:>14} {:>14} {:>7}  {}\n", each.ranks,
        plan.run.step_seconds, plan.days(), 100 * goodput(plan.run, found.mean_seconds()),
        found.mean([](const SimulatedRun& one) { return static_cast<double>(one.failures); }),
        grouped(plan.rank_hours()), plan.price_per_rank_hour > 0 ? grouped(plan.price()) : "",
        share ? fmt::format("{:.0f} %", 100 * *share) : "", each.plan);
  }
  fmt::print("added: what the ranks beyond the row above do, as a share of what they could\n");
  if (const std::optional<size_t> last = last_that_pays(counts))
    fmt::print("beyond {} ranks, added ones do less than half of that\n", counts[*last].ranks);
}

}  // namespace tessera
