// SPDX-License-Identifier: Apache-2.0
// A whole run played through once, event by event: failures, slow nodes and stragglers come at
// random, nodes are replaced by spares and return from repair. The same seed gives the same run,
// and two cadences meet the same failures.
#pragma once

#include <array>
#include <string_view>

#include "planner/whole_run.h"

namespace tessera {

enum class LossKind : uint8_t { Saving, Repeated, Detecting, Restarting, Waiting, Planned, Slow };

struct LossRow {
  LossKind kind;
  std::string_view name, summary;
};
inline constexpr auto kLosses = std::to_array<LossRow>({
    {LossKind::Saving, "saving", "stalls by checkpoints"},
    {LossKind::Repeated, "repeated", "steps made again, because they were not saved"},
    {LossKind::Detecting, "detecting", "until a failure is detected"},
    {LossKind::Restarting, "restarting", "restarts after failures"},
    {LossKind::Waiting, "waiting", "no spare node left"},
    {LossKind::Planned, "planned", "interruptions on purpose and slow nodes replaced"},
    {LossKind::Slow, "slow", "slow nodes and stragglers"},
});
inline constexpr size_t kLossKinds = kLosses.size();

struct SimulatedRun {
  double seconds = 0;
  std::array<double, kLossKinds> lost_seconds = {};  // with the work they add up to `seconds`
  int64_t failures = 0, slow_nodes = 0, stragglers = 0, planned = 0;

  double lost(LossKind kind) const { return lost_seconds[static_cast<size_t>(kind)]; }
};

struct RunChoices {
  int64_t save_every = 1;  // steps between two checkpoints
  int spare_nodes = 0;
};

SimulatedRun simulate_run(const WholeRun& run, const RunChoices& choices, uint64_t seed,
                          uint64_t index);

}  // namespace tessera
