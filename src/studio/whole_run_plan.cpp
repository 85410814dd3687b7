// SPDX-License-Identifier: Apache-2.0
#include "studio/whole_run_plan.h"

#include <algorithm>
#include <cmath>

namespace tessera {
namespace {

constexpr double kSecondsPerHour = 3600, kSecondsPerDay = 86400;

// "save-stall" is "save_stall" in JSON.
std::string json_key(std::string_view name, std::string_view unit = "") {
  std::string key(name);
  std::ranges::replace(key, '-', '_');
  return key + std::string(unit);
}

Json conditions_json(const RunConditions& conditions) {
  Json json = Json::object();
  for (const ConditionRow& row : condition_rows())
    json[json_key(row.name, "_seconds")] = conditions.*row.seconds;
  for (const SlowdownRow& row : slowdown_rows()) {
    const Slowdown& slow = conditions.*row.slowdown;
    json[json_key(row.name)] = {{"between_seconds", slow.between_seconds},
                                {"factor", slow.factor},
                                {"lasts_seconds", slow.lasts_seconds}};
  }
  return json;
}

}  // namespace

int WholeRunPlan::paid_ranks() const {
  return run.ranks + forecast.choices.spare_nodes * run.conditions.node_ranks;
}

double WholeRunPlan::days() const { return forecast.mean_seconds() / kSecondsPerDay; }

double WholeRunPlan::rank_hours() const {
  return forecast.mean_seconds() / kSecondsPerHour * paid_ranks();
}

WholeRunPlan plan_whole_run(const WholeRunTask& task, double tokens_per_step, int ranks,
                            double step_seconds) {
  WholeRunPlan plan{.run = {.ranks = ranks,
                            .step_seconds = step_seconds,
                            .steps = static_cast<int64_t>(std::ceil(task.tokens / tokens_per_step)),
                            .conditions = task.conditions},
                    .forecast = {},
                    .price_per_rank_hour = task.price_per_rank_hour};
  plan.forecast = forecast(plan.run, task.options);
  return plan;
}

std::optional<double> added_share(const std::vector<RankCount>& counts, size_t row) {
  if (!counts[row].run) return {};
  for (size_t before = row; before-- > 0;) {
    if (!counts[before].run) continue;
    const double faster = counts[before].run->days() / counts[row].run->days() - 1;
    const double more = static_cast<double>(counts[row].ranks) / counts[before].ranks - 1;
    return faster / more;
  }
  return {};
}

std::optional<size_t> last_that_pays(const std::vector<RankCount>& counts) {
  std::optional<size_t> last;
  for (size_t row = 0; row < counts.size(); ++row) {
    if (!counts[row].run) continue;
    const std::optional<double> share = added_share(counts, row);
    if (share && *share < kLeastAddedShare) return last;
    last = row;
  }
  return {};
}

Json to_json(const WholeRunPlan& plan) {
  const WholeRun& run = plan.run;
  const RunForecast& found = plan.forecast;
  const auto count = [&](int64_t SimulatedRun::*of) {
    return found.mean([of](const SimulatedRun& each) { return static_cast<double>(each.*of); });
  };
  Json json{{"ranks", run.ranks},
            {"steps", run.steps},
            {"step_seconds", run.step_seconds},
            {"conditions", conditions_json(run.conditions)},
            {"simulated_runs", found.runs.size()},
            {"seconds", found.mean_seconds()},
            {"seconds_p5", found.seconds_at(0.05)},
            {"seconds_p50", found.seconds_at(0.5)},
            {"seconds_p95", found.seconds_at(0.95)},
            {"expected_seconds", found.expected_seconds},
            {"goodput", goodput(run, found.mean_seconds())},
            {"goodput_p5", goodput(run, found.seconds_at(0.95))},
            {"goodput_p95", goodput(run, found.seconds_at(0.05))},
            {"failures", count(&SimulatedRun::failures)},
            {"slow_nodes", count(&SimulatedRun::slow_nodes)},
            {"stragglers", count(&SimulatedRun::stragglers)},
            {"planned", count(&SimulatedRun::planned)},
            {"save_every", found.choices.save_every},
            {"spare_nodes", found.choices.spare_nodes},
            {"node_ranks", run.conditions.node_ranks},
            {"rank_hours", plan.rank_hours()},
            {"lost_seconds", Json::object()}};
  // Infinite where nothing fails.
  if (std::isfinite(found.daly_seconds)) {
    json["young_seconds"] = found.young_seconds;
    json["daly_seconds"] = found.daly_seconds;
  }
  if (plan.price_per_rank_hour > 0) json["price"] = plan.price();
  for (const LossRow& row : kLosses)
    json["lost_seconds"][row.name] =
        found.mean([&](const SimulatedRun& each) { return each.lost(row.kind); });
  return json;
}

Json to_json(const std::vector<RankCount>& counts) {
  Json json = Json::array();
  for (size_t row = 0; row < counts.size(); ++row) {
    const RankCount& each = counts[row];
    Json one{{"ranks", each.ranks}, {"plan", each.plan}, {"problem", each.problem}};
    if (each.run) one["run"] = to_json(*each.run);
    if (const std::optional<double> share = added_share(counts, row)) one["added_share"] = *share;
    json.push_back(std::move(one));
  }
  return json;
}

Json to_json(const std::vector<Sensitivity>& rows) {
  Json json{
      {"factors", std::vector<double>(kSensitivityFactors.begin(), kSensitivityFactors.end())},
      {"goodput", Json::object()}};
  for (const Sensitivity& row : rows) json["goodput"][json_key(row.name)] = row.goodput;
  return json;
}

}  // namespace tessera
