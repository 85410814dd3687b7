// SPDX-License-Identifier: Apache-2.0
#include "planner/why_not.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "planner/divisible.h"

namespace tessera {
namespace {

bool names(std::string_view text, std::string_view knob) {
  const size_t at = text.find(fmt::format("{}=", knob));
  return at == 0 || (at != std::string_view::npos && (text[at - 1] == ',' || text[at - 1] == ' '));
}

Candidate asked_for(const PlanTask& task, std::span<const Trial> ranked, std::string_view text) {
  const auto with_rest = [&](const Candidate& base) {
    Candidate candidate = parse_candidate(text, base);
    const bool names_data = std::any_of(kAxes.begin(), kAxes.end(), [&](const AxisRow& row) {
      return row.splits_data && names(text, row.name);
    });
    if (const int ranks = candidate.axes.ranks(); !names_data && task.ranks % ranks == 0) {
      const bool whole = names(text, "zero") && candidate.zero == 0;
      candidate.axes[whole ? AxisKind::Dp : AxisKind::Fsdp] = task.ranks / ranks;
    }
    if (candidate.cp() == 1) candidate.shards_over_cp = false;
    if (!names(text, "zero"))
      candidate.zero =
          candidate.fsdp() > 1 || candidate.shards_over_cp ? std::max(candidate.zero, 1) : 0;
    return candidate;
  };
  Candidate first = with_rest(ranked.front().candidate);
  for (const Trial& trial : ranked)
    if (trial.candidate.axes == first.axes) return with_rest(trial.candidate);
  return first;
}

}  // namespace

std::string compare_steps(const Simulation& slower, const Simulation& faster) {
  std::vector<std::pair<double, const char*>> parts;
  for (const TimePart& part : kTimeParts)
    if (part.scope == TimeScope::Program)
      parts.emplace_back(slower.times.*part.seconds - faster.times.*part.seconds, part.label);
  std::sort(parts.begin(), parts.end(), std::greater<>());
  const double more = slower.step_seconds - faster.step_seconds;
  std::string text =
      fmt::format("{:.4g} s slower ({:.3f} x):", more, slower.step_seconds / faster.step_seconds);
  for (const auto& [seconds, what] : parts)
    text += fmt::format("{} {} {:+.3g} s", text.back() == ':' ? "" : ",", what, seconds);
  return text;
}

WhyNot why_not(const PlanTask& task, std::span<const Trial> ranked, std::string_view text) {
  const Candidate candidate = asked_for(task, ranked, text);
  if (auto why = why_not_divisible(task, candidate)) return {candidate, why->reason};
  const Trial trial = try_candidate(task, {candidate});
  if (!trial.refused.empty()) return {candidate, trial.refused};
  if (!trial.fits)
    return {candidate, fmt::format("does not fit: a rank needs {} bytes and has {}, {} too few",
                                   trial.simulation.peak_bytes, task.rank_memory_bytes(),
                                   trial.excess_bytes(task))};
  const Simulation& best = ranked.front().simulation;
  if (trial.simulation.step_seconds <= best.step_seconds)
    return {candidate, candidate == ranked.front().candidate
                           ? "it is the one chosen"
                           : fmt::format("it is as good: {:.4g} s against {:.4g} s",
                                         trial.simulation.step_seconds, best.step_seconds)};
  return {candidate, compare_steps(trial.simulation, best)};
}

}  // namespace tessera
