// SPDX-License-Identifier: Apache-2.0
// How a run went: what its last lines, its JSON and its report say.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/manifest.h"
#include "files/json.h"
#include "inference/written_samples.h"
#include "models/model_size.h"
#include "record/step_record.h"

namespace tessera {

struct TrainSummary {
  int64_t first_step = 0, steps = 0;  // steps done before this run, and in all
  int64_t parameters = 0;
  double first_loss = 0, last_loss = 0;
  std::optional<double> held_out_loss;
  std::vector<double> losses;  // of every step of this run
  double seconds = 0;          // in steps
  double tokens_per_second = 0;
  double mfu = 0, mfu_full = 0;  // causal count, full-attention count
  double hfu = 0;                // all that the programs run, recomputation included
  StepTimes times = {};          // of a step, mean over steps
  FlopsPerToken flops_per_token;
  double peak_flops_per_second = 0;
  std::string peak_arithmetic = {};         // that it was measured in: "fp32"; empty: it was given
  double raised_peak_flops_per_second = 0;  // for later runs, where a step beat the peak; else 0
  int64_t planned_bytes = 0, resident_bytes = 0;
  std::string stopped_by;  // the signal, if one did before the last step
  std::filesystem::path out;
  std::optional<std::filesystem::path> checkpoint;  // the newest
  int64_t saves = 0, save_bytes = 0;                // checkpoints of this run, bytes of one
  int64_t failed_saves = 0;                         // of those
  double save_stall_seconds = 0;       // that a step waited for one, mean over checkpoints
  double save_written_seconds = 0;     // the same: that writing took, beside the steps
  std::string save_error;              // of the last one; empty where it was saved
  std::string trace;                   // file, if one was written
  std::vector<WrittenSample> samples;  // in the order of their steps
  std::vector<std::string> warnings;
};

// Adds to the sums that finish_summary divides.
void count_step(TrainSummary& summary, const StepRecord& record);
// At the end, once: means and rates. `hardware_flops`: of a step, as the programs run it.
void finish_summary(TrainSummary& summary, const CheckpointPosition& position,
                    double hardware_flops);

// What `tessera train --json` prints.
Json to_json(const TrainSummary& summary);

}  // namespace tessera
