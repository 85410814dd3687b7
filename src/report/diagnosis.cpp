// SPDX-License-Identifier: Apache-2.0
#include "report/diagnosis.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "config/run_spec.h"
#include "core/quantities.h"
#include "mesh/axis_sizes.h"
#include "report/figure_text.h"
#include "report/incidents.h"
#include "report/slow_rank.h"
#include "schedule/schedule_kinds.h"

namespace tessera {

const char* name(Verdict verdict) {
  switch (verdict) {
    case Verdict::Fine:
      return "fine";
    case Verdict::Note:
      return "note";
    case Verdict::Problem:
      return "problem";
    case Verdict::Unknown:
      return "not recorded";
  }
  return "";
}

namespace {

std::string percent(double share) { return fmt::format("{:.1f} %", 100 * share); }

Finding judged(Finding finding, bool problem, std::string answer, std::string advice) {
  finding.verdict = problem ? Verdict::Problem : Verdict::Fine;
  finding.answer = std::move(answer);
  if (problem) finding.advice = std::move(advice);
  return finding;
}

Finding unknown(Finding finding, std::string why) {
  finding.answer = std::move(why);
  return finding;
}

constexpr const char* kNoSplit = "the parts of the step were not recorded";

// Where ranks share cores, what they waited for is unknown, so the plan is not judged by it.
Finding noted(Finding finding, const RunRecord& record, double share) {
  finding.verdict = Verdict::Note;
  finding.answer = fmt::format(
      "{} ranks take turns on {} cores: the {} of the time that a rank waited here was mostly for "
      "a core",
      record.facts->ranks, record.facts->device_count, percent(share));
  finding.advice = fmt::format(
      "use at most {} ranks on this machine, or `tessera simulate` with a core per rank",
      record.facts->device_count);
  return finding;
}

std::string exposed_advice(const RunRecord& record) {
  std::string advice;
  const auto add = [&](const char* text) {
    advice += (advice.empty() ? "" : "; ") + std::string(text);
  };
  const bool sequence_parallel = record.config && record.config->plan.sequence_parallel;
  const AxisSizes ranks = record.config ? sizes_of(record.config->mesh) : AxisSizes();
  if (ranks[AxisKind::Tp] > 1)
    add(!sequence_parallel ? "a smaller tp, or plan.sequence_parallel"
        : record.config->plan.tp_overlap == TpOverlap::Ring
            ? "a smaller tp"
            : "plan.tp_overlap = ring, or a smaller tp");
  if (record.config && resolve_zero(*record.config) == 3)
    add("plan.zero = 2 if memory allows, or fsdp inside a node with dp between nodes");
  if (ranks.data_ranks() > 1)
    add("a larger batch per rank, so that gradients are sent less often for the same tokens");
  if (ranks[AxisKind::Cp] > 1) add("plan.context = ulysses, or a smaller cp");
  if (record.facts && record.facts->device_unit == "cores")
    add("fewer ranks with more threads each: copies between threads do not overlap with compute");
  return advice.empty() ? "fewer ranks" : advice;
}

Finding exposed_communication(const RunRecord& record, const RunFigures& figures) {
  Finding finding{.rule = "exposed_communication", .title = "Exposed communication"};
  if (!figures.split()) return unknown(finding, kNoSplit);
  const double share = *figures.share(figures.split()->exposed_communication_seconds);
  if (ranks_share_cores(record) && share > kMuchExposed) return noted(finding, record, share);
  return judged(
      finding, share > kMuchExposed,
      fmt::format("{} of the time (a problem above {})", percent(share), percent(kMuchExposed)),
      exposed_advice(record));
}

// One stage per rank and whole backwards: other kinds have smaller bubbles.
bool is_plain(std::string_view schedule) {
  return std::ranges::any_of(schedule_kinds(), [&](const ScheduleKind& kind) {
    return kind.name == schedule && kind.most_chunks == 1 && !kind.splits_backward;
  });
}

Finding bubble(const RunRecord& record, const RunFigures& figures) {
  Finding finding{.rule = "bubble", .title = "Pipeline bubble"};
  if (!figures.split()) return unknown(finding, kNoSplit);
  const double share = *figures.share(figures.split()->bubble_seconds);
  if (ranks_share_cores(record) && share > kMuchBubble) return noted(finding, record, share);
  if (!record.facts || record.facts->stages == 1)
    return judged(finding, share > kMuchBubble,
                  fmt::format("there is no pipeline; ranks waited for the slowest one for {} of "
                              "the time (a problem above {})",
                              percent(share), percent(kMuchBubble)),
                  "give ranks equal work: compare them in a trace (--trace)");
  const double own = record.facts->schedule_bubble;
  const double of_program = figures.split()->bubble_seconds / figures.split()->program_seconds();
  const std::string answer = fmt::format(
      "{} of the time (a problem above {}), {} of the program's time; this schedule's minimum is "
      "{}",
      percent(share), percent(kMuchBubble), percent(of_program), percent(own));
  std::string advice;
  const auto add = [&](const char* text) {
    advice += (advice.empty() ? "" : "; ") + std::string(text);
  };
  const bool plain = record.config && is_plain(record.config->plan.schedule);
  if (own > kMuchBubble)
    add(plain ? "more microbatches (train.microbatches), plan.schedule = interleaved_1f1b with "
                "plan.chunks, or zb_h1"
              : "more microbatches (train.microbatches) or chunks (plan.chunks)");
  if (of_program > kBubbleOverSchedule * own)
    add("stages may have unequal cost, or messages between them may be slow: set plan.stages, or "
        "look at a trace (--trace)");
  return judged(finding, share > kMuchBubble, answer,
                advice.empty() ? "more microbatches, or fewer stages" : advice);
}

Finding matmul_size(const RunRecord& record, const RunFigures&) {
  Finding finding{.rule = "matmul_size", .title = "Matmul sizes"};
  if (!record.facts || record.facts->matmul_side == 0)
    return unknown(finding, "sizes of matmuls were not recorded");
  const bool cores = record.facts->device_unit == "cores";
  const int64_t least = cores ? kSmallMatmulCores : kSmallMatmulDevices;
  return judged(finding, record.facts->matmul_side < least,
                fmt::format("half of all matmul flops are in matmuls whose smallest dimension is "
                            "at most {} (a problem below {} on {})",
                            record.facts->matmul_side, least, cores ? "cores" : "such devices"),
                "fewer microbatches or a larger batch, a smaller tp, a wider model");
}

Finding input(const RunRecord& record, const RunFigures& figures) {
  Finding finding{.rule = "input", .title = "Input"};
  if (!figures.split() || !known(figures.split()->data_seconds))
    return unknown(finding, record.simulated() ? "a simulation reads no data"
                                               : "waiting for data was not recorded");
  const double share = *figures.share(figures.split()->data_seconds);
  return judged(finding, share > kMuchData,
                fmt::format("{} of the time was spent waiting for data (a problem above {})",
                            percent(share), percent(kMuchData)),
                "data on a faster disk, token shards instead of text (data.source = tokens), or a "
                "core left free for the loader (train.threads)");
}

Finding checkpoints(const RunRecord& record, const RunFigures& figures) {
  Finding finding{.rule = "checkpoints", .title = "Checkpoints"};
  if (record.simulated()) return unknown(finding, "a simulation saves nothing");
  if (record.events.empty()) return unknown(finding, "the time of checkpoints was not recorded");
  if (figures.checkpoints.times == 0) return judged(finding, false, "none were saved", "");
  const auto share = figures.checkpoint_share();
  if (!share) return unknown(finding, kNoSplit);
  const double one = figures.checkpoints.seconds / figures.checkpoints.times;
  const double step = known(figures.mean.step_seconds).value_or(0);
  const double enough = step > 0 ? std::ceil(one / step / kMuchCheckpoints) : 0;
  return judged(finding, *share > kMuchCheckpoints,
                fmt::format("{} checkpoints of {} stalled training for {:.3g} s each, {} of the "
                            "time (a problem above {})",
                            figures.checkpoints.times, short_bytes(figures.checkpoints.bytes), one,
                            percent(*share), percent(kMuchCheckpoints)),
                fmt::format("save less often: with --save-every {:.0f} they cost about {}", enough,
                            percent(kMuchCheckpoints)));
}

std::string largest_loss(const RunRecord& record, const RunFigures& figures) {
  if (!figures.split()) return "record the parts of the step";
  if (ranks_share_cores(record))
    return "at most as many ranks as cores: then the parts of the step show where the time goes";
  const StepTimes& split = *figures.split();
  const std::pair<double, const char*> parts[] = {
      {split.exposed_communication_seconds, "exposed communication"},
      {split.bubble_seconds, "the bubble"},
      {known(split.data_seconds).value_or(0), "the input"},
      {split.other_seconds + split.between_steps_seconds, "the time outside the step's program"}};
  const auto most = std::max_element(std::begin(parts), std::end(parts));
  const double share = *figures.share(most->first);
  if (share > 0.1)
    return fmt::format("start with {}: {} of the time", most->second, percent(share));
  return "the kernels are slow: larger matmuls (a larger batch, fewer microbatches, a "
         "smaller tp), bf16 where the device has it, fewer ranks than cores; `tessera bench step "
         "--profile` shows which";
}

Finding mfu(const RunRecord& record, const RunFigures& figures) {
  Finding finding{.rule = "mfu", .title = "MFU"};
  if (!(figures.mean.mfu > 0)) return unknown(finding, "MFU was not recorded");
  const std::string peak = record.peak_flops_per_second ? " of " + peak_text(record) : "";
  return judged(finding, figures.mean.mfu < kLittleMfu,
                fmt::format("{}{} (a problem below {})", percent(figures.mean.mfu), peak,
                            percent(kLittleMfu)),
                largest_loss(record, figures));
}

Finding memory(const RunRecord& record, const RunFigures& figures) {
  Finding finding{.rule = "memory", .title = "Memory"};
  if (!record.facts || figures.peak_bytes == 0) return unknown(finding, "memory was not recorded");
  const RunFacts& facts = *record.facts;
  const bool shared = facts.node_memory_bytes > 0;
  const double has = shared ? facts.node_memory_bytes : facts.device_memory_bytes;
  const double needs = static_cast<double>(
      shared ? figures.all_peak_bytes / std::max(1, facts.nodes) : figures.peak_bytes);
  if (has <= 0) return unknown(finding, "the device's memory is not known");
  const double recomputed =
      facts.hardware_flops > 0 ? facts.recompute_flops / facts.hardware_flops : 0;
  const std::string answer = fmt::format(
      "{} planned of {} {}; {} of the flops are recomputation (a problem above {} with more than "
      "{} of the memory free)",
      short_bytes(static_cast<int64_t>(needs)), short_bytes(static_cast<int64_t>(has)),
      shared ? "of the machine" : "of the device", percent(recomputed), percent(kMuchRecompute),
      percent(kMemoryToSpare));
  if (needs > has)
    return judged(finding, true, answer,
                  "the plan does not fit: plan.recompute = fit or block, a higher plan.zero, more "
                  "microbatches, a larger tp or pp");
  return judged(finding, recomputed > kMuchRecompute && needs < (1 - kMemoryToSpare) * has, answer,
                "recompute less: plan.recompute = none, attention, or fit with plan.memory");
}

Finding stalls(const RunRecord& record, const RunFigures& figures) {
  Finding finding{.rule = "stalls", .title = "Slow steps"};
  if (record.simulated()) return unknown(finding, "a simulation has one step");
  const std::vector<Stall> stalls = stalls_of(record);
  const double share = static_cast<double>(stalls.size()) / std::max(1, figures.counted_steps);
  std::string answer =
      fmt::format("{} of {} steps took more than {} times the median (a problem above {})",
                  stalls.size(), figures.counted_steps, kStallOverMedian, percent(kManyStalls));
  const std::string grew = stalls.empty() ? "" : stalls.front().grew;
  return judged(finding, share > kManyStalls, std::move(answer),
                (grew.empty() ? std::string() : "the largest increase was in " + grew + ": ") +
                    "look for other work on the machine, and at those steps in a trace");
}

Finding slow_rank(const RunRecord& record, const RunFigures&) {
  Finding finding{.rule = "slow_rank", .title = "Slow rank"};
  if (record.simulated()) return unknown(finding, "ranks of a simulation are equally fast");
  const std::optional<SlowRank> slow = slowest_rank_of(record);
  if (!slow) return unknown(finding, "ranks with equal work were not recorded");
  const std::string answer = fmt::format(
      "rank {} computes {} longer than the median of the {} ranks of its stage, {} a step (a "
      "problem above {})",
      slow->rank, percent(slow->over()), slow->stage_ranks,
      seconds_text(slow->seconds - slow->usual_seconds), percent(kSlowRank));
  if (ranks_share_cores(record) && slow->over() > kSlowRank) {
    finding.verdict = Verdict::Note;
    finding.answer = answer;
    finding.advice = "ranks take turns on the cores: which of them is slow says little";
    return finding;
  }
  return judged(finding, slow->over() > kSlowRank, answer,
                fmt::format("look at the machine of rank {}: its clock, other work on it, its "
                            "place; ranks.jsonl has every rank over time",
                            slow->rank));
}

std::string began_and_ended(const RunRecord& record) {
  const auto resumed = std::count_if(
      record.events.begin(), record.events.end(),
      [](const RecordedEvent& event) { return event.kind == "start" && event.step > 0; });
  if (resumed == 0) return "the run started once and ended as planned";
  return fmt::format("the run was resumed {} and ended as planned",
                     resumed == 1 ? "once" : fmt::format("{} times", resumed));
}

Finding failures(const RunRecord& record, const RunFigures& figures) {
  Finding finding{.rule = "failures", .title = "Failures"};
  if (record.simulated()) return unknown(finding, "a simulation does not fail");
  if (record.events.empty()) return unknown(finding, "starts and ends were not recorded");
  const std::vector<std::string> seen = failures_of(record);
  finding = judged(
      finding, !seen.empty(),
      seen.empty() ? began_and_ended(record) : fmt::format("the run {}", fmt::join(seen, "; it ")),
      figures.checkpoints.times > 0 ? "if it does not run now, resume with --resume"
                                    : "save often enough (--save-every) and resume with --resume");
  if (came_back(record)) {
    finding.verdict = Verdict::Note;
    finding.answer += "; it ended as planned";
    finding.advice.clear();
  }
  return finding;
}

}  // namespace

std::vector<Finding> diagnose(const RunRecord& record, const RunFigures& figures) {
  std::vector<Finding> findings;
  for (const auto& rule : {exposed_communication, bubble, matmul_size, input, checkpoints, mfu,
                           memory, stalls, slow_rank, failures})
    findings.push_back(rule(record, figures));
  return findings;
}

}  // namespace tessera
