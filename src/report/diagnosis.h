// SPDX-License-Identifier: Apache-2.0
// What is wrong with a run, by rules: each has a title, an answer that states its threshold, and
// what to try. A rule whose figures were not recorded says so.
#pragma once

#include "report/figures.h"

namespace tessera {

// Shares of the time per step, unless said otherwise.
inline constexpr double kMuchExposed = 0.10;
inline constexpr double kMuchBubble = 0.10;
inline constexpr double kBubbleOverSchedule = 1.25;  // measured over the schedule's own
inline constexpr double kMuchData = 0.02;
inline constexpr double kMuchCheckpoints = 0.05;
inline constexpr double kLittleMfu = 0.30;
inline constexpr double kManyStalls = 0.01;          // of the steps
inline constexpr double kSlowRank = 0.10;            // own work above the median of its stage
inline constexpr double kMuchRecompute = 0.05;       // of the flops that programs run
inline constexpr double kMemoryToSpare = 0.30;       // of a device, that a plan leaves free
inline constexpr int64_t kSmallMatmulCores = 64;     // sides below which kernels lose much of their
inline constexpr int64_t kSmallMatmulDevices = 512;  // rate: on cores; on GPUs and the like

// A note: a figure that says more about the machine than about the plan.
enum class Verdict : uint8_t { Fine, Note, Problem, Unknown };
const char* name(Verdict verdict);  // "fine", "note", "problem", "not recorded"

struct Finding {
  std::string rule;  // "exposed_communication"
  std::string title;
  Verdict verdict = Verdict::Unknown;
  std::string answer = {};
  std::string advice = {};  // where there is a problem, or a note
};

// In a fixed order.
std::vector<Finding> diagnose(const RunRecord& record, const RunFigures& figures);

}  // namespace tessera
