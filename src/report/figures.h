// SPDX-License-Identifier: Apache-2.0
// The figures of a run: means over its steps except the first step after each start, which touches
// memory for the first time. Figures that were not recorded are absent.
#pragma once

#include <optional>
#include <vector>

#include "record/run_record.h"

namespace tessera {

// What a run does between steps, in total.
struct Spent {
  int times = 0;
  double seconds = 0;
  int64_t bytes = 0;  // of the last one
};

struct RunFigures {
  int64_t first_step = 0, last_step = 0;
  int counted_steps = 0;  // that the means are over
  // All counted steps as one, each figure combined as its row in step_fields() says. The parts of
  // its times add up to the time from one step's end to the next one's.
  StepRecord mean = {};
  std::optional<double> median_step_seconds = {}, slowest_step_seconds = {};
  std::optional<double> all_tokens_per_second = {};  // including the time between steps
  std::optional<double> mfu_full = {};
  Spent checkpoints = {}, evaluations = {}, samples = {};
  std::optional<double> first_loss = {}, last_loss = {}, held_out_loss = {};
  int64_t peak_bytes = 0, all_peak_bytes = 0;  // of the fullest rank, of all ranks; 0: not known

  // Null where the parts of a step were not recorded.
  const StepTimes* split() const { return mean.times.known() ? &mean.times : nullptr; }
  // Of the time per step; absent where the parts or these seconds were not recorded.
  std::optional<double> share(double seconds) const;
  std::optional<double> checkpoint_share() const;
};

RunFigures figures_of(const RunRecord& record);

// Whether ranks have more threads than there are cores. Then a rank's time includes its waits for a
// core, and waiting for a core looks like waiting for another rank.
bool ranks_share_cores(const RunRecord& record);
// The share of its time that a core computes, where ranks share cores; at most 1.
std::optional<double> compute_share_of_cores(const RunRecord& record, const RunFigures& figures);

// Whether it is the first step after a start.
bool begins_start(const RunRecord& record, int64_t step);
// Seconds from the end of the previous step to the start of this one; nothing if there is a restart
// or a gap in the record between them.
std::optional<double> seconds_before(const RunRecord& record, size_t index);

}  // namespace tessera
