// SPDX-License-Identifier: Apache-2.0
#include "planner/run_conditions.h"

#include <array>
#include <charconv>

#include "core/error.h"
#include "core/quantities.h"

namespace tessera {
namespace {

constexpr auto kConditions = std::to_array<ConditionRow>({
    {"mtbf", &RunConditions::rank_failure_seconds, "50675h",
     "Llama 3: 419 failures of 16,384 GPUs in 54 days",
     "mean time between failures of one rank, with its share of node and network"},
    {"detect", &RunConditions::detect_seconds, "2m", "run.deadline_seconds",
     "from a failure until all ranks have ended"},
    {"restart", &RunConditions::restart_seconds, "5m", "assumed",
     "from there until steps are made again: start, read the checkpoint"},
    {"save-stall", &RunConditions::stall_seconds, "10s", "assumed",
     "that a checkpoint stalls training"},
    {"save-write", &RunConditions::write_seconds, "1m", "assumed",
     "from the start of a checkpoint until it can be restarted from"},
    {"repair", &RunConditions::repair_seconds, "1d", "assumed", "that a failed node is away"},
    {"planned", &RunConditions::planned_seconds, "0s", "none",
     "between interruptions on purpose, which save first; 0s: none"},
});

constexpr auto kSlowdowns = std::to_array<SlowdownRow>({
    {"slow-node", &RunConditions::slow_node,
     "nodes that turn slow until they are noticed and replaced: mean time between two of one rank, "
     "factor of the step, time until noticed"},
    {"straggler", &RunConditions::straggler,
     "ranks that are late for a while: mean time between two of one rank, factor of the step, mean "
     "time that it lasts"},
});

constexpr double kMostFactor = 1000;

}  // namespace

std::span<const ConditionRow> condition_rows() { return kConditions; }
std::span<const SlowdownRow> slowdown_rows() { return kSlowdowns; }

Slowdown parse_slowdown(const std::string& text, const std::string& place) {
  const size_t first = text.find(','), second = text.find(',', first + 1);
  if (first != std::string::npos && second != std::string::npos) {
    const std::string factor = text.substr(first + 1, second - first - 1);
    double number = 0;
    const char* end = factor.data() + factor.size();
    const auto read = std::from_chars(factor.data(), end, number);
    if (read.ec == std::errc() && read.ptr == end && number >= 1 && number <= kMostFactor)
      return {.between_seconds = parse_duration(text.substr(0, first), place),
              .factor = number,
              .lasts_seconds = parse_duration(text.substr(second + 1), place)};
  }
  throw user_error("cannot read {} as a time, a factor and a time", text)
      .at(place)
      .help(
          "give the mean time between two of one rank, a factor of 1 or more, and how long it "
          "lasts, such as 50000h,1.1,2h");
}

}  // namespace tessera
