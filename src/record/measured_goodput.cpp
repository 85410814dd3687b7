// SPDX-License-Identifier: Apache-2.0
#include "record/measured_goodput.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "core/error.h"

namespace tessera {
namespace {

// After this long without a process the next start is another supervisor's: the run lay still.
constexpr double kLongestGapSeconds = 3600;

class Measurement {
 public:
  explicit Measurement(std::span<const StartRecord> starts) : starts_(starts) {}

  MeasuredGoodput take() {
    for (size_t i = 0; i < starts_.size(); ++i) add(i);
    for (const auto& [available, steps] : kept_) found_.by_ranks.push_back(steps);
    std::ranges::reverse(found_.by_ranks);
    find_fastest();
    for (const StepsOnRanks& each : found_.by_ranks) {
      const auto steps = static_cast<double>(each.steps);
      found_.productive_seconds += steps * found_.step_seconds;
      lose(LossKind::Slow, steps * (each.step_seconds - found_.step_seconds));
    }
    return std::move(found_);
  }

 private:
  void lose(LossKind kind, double seconds) {
    found_.lost_seconds[static_cast<size_t>(kind)] += seconds;
  }

  // Why the start before it ended decides what its start is charged to.
  LossKind start_loss(size_t i) const {
    return i > 0 && starts_[i - 1].end == kStartMoved ? LossKind::Planned : LossKind::Restarting;
  }

  void add(size_t i) {
    const StartRecord& own = starts_[i];
    found_.seconds += own.seconds;
    if (i > 0) add_gap(starts_[i - 1], own, start_loss(i));
    lose(start_loss(i), own.start_seconds);
    lose(LossKind::Saving, own.stall_seconds);
    // A start that made no step has no tail: all of it is its start.
    const bool failed = own.end == kStartFailed;
    lose(failed                   ? LossKind::Detecting
         : own.end == kStartMoved ? LossKind::Planned
                                  : LossKind::Saving,
         own.tail_seconds());
    found_.failures += failed ? 1 : 0;
    found_.moves += own.end == kStartMoved ? 1 : 0;
    if (own.steps() == 0) return;
    const int64_t kept = kept_steps(i);
    lose(LossKind::Repeated, static_cast<double>(own.steps() - kept) * own.step_seconds());
    found_.steps += kept;
    StepsOnRanks& all = kept_[own.available];
    const auto before = static_cast<double>(all.steps), more = static_cast<double>(kept);
    all.available = own.available;
    all.ranks = own.ranks;
    if (kept > 0)
      all.step_seconds = (all.step_seconds * before + own.step_seconds() * more) / (before + more);
    all.steps += kept;
  }

  void add_gap(const StartRecord& before, const StartRecord& own, LossKind loss) {
    const double gap = own.began_unix_seconds - before.began_unix_seconds - before.seconds;
    if (gap <= 0 || gap - own.waited_seconds > kLongestGapSeconds) return;
    const double waited = std::clamp(own.waited_seconds, 0.0, gap);
    found_.seconds += gap;
    lose(LossKind::Waiting, waited);
    lose(loss, gap - waited);
  }

  // Those that no later start made again.
  int64_t kept_steps(size_t i) const {
    const StartRecord& own = starts_[i];
    int64_t last = own.last_step;
    for (size_t later = i + 1; later < starts_.size(); ++later)
      if (starts_[later].steps() > 0) last = std::min(last, starts_[later].first_step - 1);
    return std::max<int64_t>(0, last - own.first_step + 1);
  }

  // Of ranks that made enough steps for a mean.
  void find_fastest() {
    constexpr int64_t kLeastShare = 20;
    for (const StepsOnRanks& each : found_.by_ranks)
      if (each.steps * kLeastShare >= found_.steps && each.steps > 0 &&
          (found_.step_seconds == 0 || each.step_seconds < found_.step_seconds))
        found_.step_seconds = each.step_seconds;
  }

  std::span<const StartRecord> starts_;
  MeasuredGoodput found_;
  std::map<int, StepsOnRanks> kept_;
};

double step_seconds_with(const MeasuredGoodput& goodput, int available) {
  const StepsOnRanks* nearest = nullptr;
  for (const StepsOnRanks& each : goodput.by_ranks)
    if (each.steps > 0 && (!nearest || std::abs(each.available - available) <
                                           std::abs(nearest->available - available)))
      nearest = &each;
  return nearest ? nearest->step_seconds : 0;
}

// Steps with none, one, two nodes away.
std::vector<double> away_factors(std::span<const StartRecord> starts,
                                 const MeasuredGoodput& goodput, int node_ranks) {
  int most = 0, least = 1 << 30;
  for (const StartRecord& each : starts) {
    most = std::max(most, each.available);
    least = std::min(least, each.available);
  }
  std::vector<double> factors;
  for (int available = most; available >= least; available -= node_ranks)
    factors.push_back(std::max(1.0, step_seconds_with(goodput, available) / goodput.step_seconds));
  return factors.size() > 1 ? factors : std::vector<double>{};
}

struct Away {
  double mean_ranks = 0;  // that were away, over the time
  int node_ranks = 1;     // that a loss takes
};

Away ranks_away(std::span<const StartRecord> starts) {
  int most = 0;
  for (const StartRecord& each : starts) most = std::max(most, each.available);
  double seconds = 0, away = 0, lost = 0, losses = 0;
  for (size_t i = 0; i < starts.size(); ++i) {
    seconds += starts[i].seconds;
    away += starts[i].seconds * (most - starts[i].available);
    if (i == 0 || starts[i].available >= starts[i - 1].available) continue;
    lost += starts[i - 1].available - starts[i].available;
    ++losses;
  }
  if (losses == 0 || seconds <= 0) return {};
  return {.mean_ranks = away / seconds,
          .node_ranks = std::max(1, static_cast<int>(std::lround(lost / losses)))};
}

}  // namespace

MeasuredGoodput measure_goodput(std::span<const StartRecord> starts) {
  return Measurement(starts).take();
}

MeasuredRun measure_conditions(std::span<const StartRecord> starts, const MeasuredGoodput& goodput,
                               double write_seconds) {
  MeasuredRun found{.run = {.step_seconds = goodput.step_seconds, .steps = goodput.steps}};
  if (starts.empty()) return found;
  found.first_start_seconds = starts.front().start_seconds;
  WholeRun& run = found.run;
  int saves = 0;
  for (const StartRecord& each : starts) {
    run.ranks = std::max(run.ranks, each.ranks);
    saves += each.saves;
  }
  RunConditions& own = run.conditions;
  own.write_seconds = write_seconds;
  if (saves > 0) own.stall_seconds = goodput.lost(LossKind::Saving) / saves;
  const Away away = ranks_away(starts);
  own.node_ranks = away.node_ranks;
  if (goodput.failures == 0) return found;
  const double up = goodput.seconds - goodput.lost(LossKind::Waiting) - found.first_start_seconds;
  own.rank_failure_seconds = up / goodput.failures * run.ranks;
  // A step under way is lost with what it interrupts; half of it is counted by the model.
  own.detect_seconds = std::max(
      0.0, goodput.lost(LossKind::Detecting) / goodput.failures - goodput.step_seconds / 2);
  own.restart_seconds =
      std::max(0.0, goodput.lost(LossKind::Restarting) - found.first_start_seconds) /
      goodput.failures;
  // As many nodes are away on average as fail while one is.
  own.repair_seconds = away.mean_ranks / away.node_ranks * up / goodput.failures;
  run.away_factors = away_factors(starts, goodput, away.node_ranks);
  return found;
}

std::optional<PredictedGoodput> predict_goodput(const MeasuredRun& measured, int64_t save_every) {
  const WholeRun& run = measured.run;
  if (run.steps <= 0 || run.step_seconds <= 0) return {};
  try {
    const RunForecast found = forecast(run, {.save_every = save_every, .spare_nodes = 0});
    const double all = found.mean_seconds() + measured.first_start_seconds;
    PredictedGoodput predicted{.share = run.work_seconds() / all};
    for (const LossRow& row : kLosses)
      predicted.lost_shares[static_cast<size_t>(row.kind)] =
          found.mean([&](const SimulatedRun& each) { return each.lost(row.kind); }) / all;
    predicted.lost_shares[static_cast<size_t>(LossKind::Restarting)] +=
        measured.first_start_seconds / all;
    return predicted;
  } catch (const UserError&) {
    return {};  // it fails too often for the model
  }
}

std::string to_line(const MeasuredGoodput& goodput) {
  constexpr double kLeastShown = 0.0005;
  std::vector<LossRow> rows(kLosses.begin(), kLosses.end());
  std::ranges::stable_sort(rows, std::ranges::greater{},
                           [&](const LossRow& row) { return goodput.lost(row.kind); });
  std::string text =
      fmt::format("goodput {:.1f} % of {:.1f} s", 100 * goodput.share(), goodput.seconds);
  std::string between = ": ";
  for (const LossRow& row : rows) {
    const double share = goodput.seconds > 0 ? goodput.lost(row.kind) / goodput.seconds : 0;
    if (share < kLeastShown) continue;
    text += fmt::format("{}{:.1f} % {}", between, 100 * share, row.name);
    between = ", ";
  }
  return text;
}

}  // namespace tessera
