// SPDX-License-Identifier: Apache-2.0
#include "jobs/job_state.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "core/quantities.h"
#include "core/statistics.h"
#include "report/figures.h"

namespace tessera {
namespace {

// The steps of each start, without those of earlier ones.
std::vector<std::span<const StepRecord>> starts_of(const RunRecord& record) {
  std::vector<std::span<const StepRecord>> starts;
  const std::span<const StepRecord> all(record.steps);
  for (size_t begin = 0; begin < all.size();) {
    size_t end = begin + 1;
    while (end < all.size() && !begins_start(record, all[end].step)) ++end;
    starts.push_back(all.subspan(begin, end - begin));
    begin = end;
  }
  return starts;
}

// The first step of a start touches memory for the first time.
std::optional<double> median_step(std::span<const StepRecord> start) {
  std::vector<double> seconds;
  for (const StepRecord& step : start.size() > 1 ? start.subspan(1) : start)
    if (known(step.step_seconds)) seconds.push_back(step.step_seconds);
  if (seconds.empty()) return {};
  return median(seconds);
}

// Of an attempt that could not say when it ended: when the next one began, or not at all.
double end_of(const JobAttempt& attempt, const JobAttempt* next, bool goes_on, double now) {
  if (attempt.end) return *attempt.end;
  if (next) return std::min(next->begin, now);
  return goes_on ? now : attempt.begin;
}

double held_seconds(std::span<const JobAttempt> attempts, bool goes_on, double now) {
  double seconds = 0;
  for (size_t i = 0; i < attempts.size(); ++i) {
    const JobAttempt* next = i + 1 < attempts.size() ? &attempts[i + 1] : nullptr;
    seconds += std::max(0.0, end_of(attempts[i], next, goes_on, now) - attempts[i].begin);
  }
  return seconds;
}

void add_place(const JobPlan& plan, std::span<const JobAttempt> attempts, const QueuedJob* queued,
               JobState& state) {
  if (!attempts.empty()) {
    const JobAttempt& last = attempts.back();
    state.job = last.job;
    state.nodes = last.nodes;
    state.ranks = last.ranks;
    state.mesh = last.mesh;
    state.state = last.end ? last.ended : "gone";
    if (state.state == "failed") state.reason = fmt::format("exit code {}", last.code);
  } else {
    state.state = "gone";
  }
  if (state.step >= plan.steps && plan.steps > 0) state.state = "complete";
  // Elements of an array that are left over are about to be cancelled.
  if (!queued || (state.state == "complete" && queued->state == "pending")) return;
  state.job = queued->id;
  state.state = queued->state;
  state.reason = queued->reason;
}

// The speed that the plan has for the ranks it runs on, or, while it waits, for the most.
const PlannedNodes* predicted_row(const JobPlan& plan, const JobState& state) {
  const int nodes = state.state == "running" && state.nodes > 0 ? state.nodes : plan.max_nodes;
  try {
    return &plan.plan_for(nodes);
  } catch (const UserError&) {
    return nullptr;
  }
}

void add_speed(const JobPlan& plan, const RunRecord* record, const JobAttempt* last,
               JobState& state) {
  const auto tokens = static_cast<double>(plan.tokens_per_step);
  const PlannedNodes* row = predicted_row(plan, state);
  double step_seconds = row ? row->step_seconds : 0;
  if (row) state.predicted_goodput = row->goodput;
  if (row && step_seconds > 0) state.predicted_tokens_per_second = tokens / step_seconds;
  if (record) {
    const std::optional<double> measured = median_step(starts_of(*record).back());
    if (measured && *measured > 0) {
      state.tokens_per_second = tokens / *measured;
      // On other ranks the same error of the prediction is expected.
      if (last && last->step_seconds > 0)
        step_seconds *= *measured / last->step_seconds;
      else
        step_seconds = *measured;
    }
    if (state.held_seconds > 0) state.goodput = productive_seconds(*record) / state.held_seconds;
  }
  const double share = row && row->goodput > 0 ? row->goodput : 1;
  const auto left = static_cast<double>(std::max<int64_t>(0, plan.steps - state.step));
  if (step_seconds > 0) state.left_seconds = left * step_seconds / share;
}

std::string speed_text(std::optional<double> tokens) {
  return tokens ? fmt::format("{:.4g}", *tokens) : "";
}

}  // namespace

double productive_seconds(const RunRecord& record) {
  double seconds = 0;
  for (const std::span<const StepRecord> start : starts_of(record))
    seconds += median_step(start).value_or(0) * static_cast<double>(start.size());
  return seconds;
}

JobState job_state(const std::filesystem::path& run, const JobPlan& plan,
                   std::span<const JobAttempt> attempts, const RunRecord* record,
                   const QueuedJob* queued, double now) {
  JobState state{
      .run = run.string(), .steps = plan.steps, .attempts = static_cast<int>(attempts.size())};
  if (record) state.step = record->steps.back().step;
  add_place(plan, attempts, queued, state);
  const bool goes_on = queued && queued->state != "pending";
  state.held_seconds = held_seconds(attempts, goes_on, now);
  add_speed(plan, record, attempts.empty() ? nullptr : &attempts.back(), state);
  return state;
}

Json to_json(const JobState& state) {
  return {{"run", state.run},
          {"job", state.job},
          {"state", state.state},
          {"reason", state.reason},
          {"nodes", state.nodes},
          {"ranks", state.ranks},
          {"mesh", state.mesh},
          {"step", state.step},
          {"steps", state.steps},
          {"attempts", state.attempts},
          {"held_seconds", state.held_seconds},
          {"predicted_tokens_per_second", state.predicted_tokens_per_second},
          {"tokens_per_second", state.tokens_per_second},
          {"predicted_goodput", state.predicted_goodput},
          {"goodput", state.goodput},
          {"left_seconds", state.left_seconds}};
}

std::string job_table(std::span<const JobState> states) {
  std::string text = fmt::format("{:>10} {:<10} {:>6} {:>13} {:>11} {:>11} {:>8} {:>9} {:>8}  {}\n",
                                 "job", "state", "ranks", "step", "predicted", "tokens/s",
                                 "goodput", "predicted", "left", "run");
  const auto share = [](std::optional<double> of) {
    return of ? fmt::format("{:.1f} %", 100 * *of) : std::string();
  };
  for (const JobState& each : states)
    text += fmt::format(
        "{:>10} {:<10} {:>6} {:>13} {:>11} {:>11} {:>8} {:>9} {:>8}  {}{}\n", each.job, each.state,
        each.ranks > 0 ? fmt::format("{}", each.ranks) : "",
        fmt::format("{}/{}", each.step, each.steps), speed_text(each.predicted_tokens_per_second),
        speed_text(each.tokens_per_second), share(each.goodput), share(each.predicted_goodput),
        each.left_seconds && each.state != "complete" ? short_duration(*each.left_seconds) : "",
        each.run, each.reason.empty() ? "" : " (" + each.reason + ")");
  return text;
}

}  // namespace tessera
