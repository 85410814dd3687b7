// SPDX-License-Identifier: Apache-2.0
// One step of a run or of a simulation: a line of metrics.jsonl, the scalars of TensorBoard, and
// what reports are made of. All of them follow the table of fields, so that a new figure is a
// member and a row here, and one line where it is measured.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "program/expert_load.h"
#include "program/step_times.h"
#include "record/tensorboard_file.h"

namespace tessera {

// NaN: not known.
struct StepRecord {
  int64_t step = 0;  // steps done, this one included
  double loss = kUnknown, grad_norm = kUnknown, lr = kUnknown;
  double balance_loss = kUnknown, z_loss = kUnknown;  // of routers
  // Of the layer with the most uneven experts: the largest load over the mean, less 1; of all
  // layers: experts with less than a tenth of the mean.
  double load_violation = kUnknown, starving_experts = kUnknown;
  double tokens = kUnknown;  // trained on so far
  double tokens_per_second = kUnknown, mfu = kUnknown, hfu = kUnknown;
  double step_seconds = kUnknown;
  StepTimes times = kUnknownTimes;    // within step_seconds
  double elapsed_seconds = kUnknown;  // from the start of this run to the end of the step
  double joules = kUnknown;           // of the writing process's GPU, since the step before
  double peak_bytes = kUnknown;
  // Where there are several ranks: their own work, without waiting.
  double slowest_rank = kUnknown, slowest_rank_seconds = kUnknown, fastest_rank_seconds = kUnknown;
  double skipped = kUnknown;  // 1: its gradient was not finite, and nothing was learnt
  double held_out_loss = kUnknown;
  double checkpoint_stall_seconds = kUnknown;  // after the step, where one was saved
  std::vector<ExpertLoad> loads = {};          // of the steps that are logged, where there are any
};

enum class Unit : uint8_t { None, Count, Bytes, Seconds, Share, PerSecond };
// ByTime: a mean in which each step counts by its seconds, as a rate must.
enum class OverSteps : uint8_t { Last, Mean, ByTime, Largest, Sum };

struct StepField {
  const char* key;  // in metrics.jsonl and TensorBoard
  const char* meaning;
  const char* label = nullptr;  // of its row in reports; null: it has none of its own
  Unit unit = Unit::None;
  OverSteps over_steps = OverSteps::Last;
  double StepRecord::*value = nullptr;
  bool always = true;                 // null in metrics.jsonl where it is not known; else left out
  double StepTimes::*part = nullptr;  // of StepRecord::times, instead of `value`

  double& of(StepRecord& record) const { return value ? record.*value : record.times.*part; }
  double of(const StepRecord& record) const { return value ? record.*value : record.times.*part; }
};

inline constexpr StepField kFieldsBeforeTimes[] = {
    {"loss", "mean cross-entropy of the labels of the step", nullptr, Unit::None, OverSteps::Last,
     &StepRecord::loss},
    {"grad_norm", "norm of the gradient, before clipping", nullptr, Unit::None, OverSteps::Last,
     &StepRecord::grad_norm},
    {"balance_loss", "balance loss of the routers, added up over layers", nullptr, Unit::None,
     OverSteps::Last, &StepRecord::balance_loss, false},
    {"z_loss", "z loss of the routers, added up over layers", nullptr, Unit::None, OverSteps::Last,
     &StepRecord::z_loss, false},
    {"load_violation",
     "of the layer with the most uneven experts: the largest load over the mean, less 1", nullptr,
     Unit::None, OverSteps::Last, &StepRecord::load_violation, false},
    {"starving_experts", "experts with less than a tenth of the mean load", nullptr, Unit::Count,
     OverSteps::Last, &StepRecord::starving_experts, false},
    {"lr", "learning rate of the step", nullptr, Unit::None, OverSteps::Last, &StepRecord::lr},
    {"tokens", "tokens trained on, earlier starts of the run included", nullptr, Unit::Count,
     OverSteps::Last, &StepRecord::tokens},
    {"tokens_per_second", "tokens of the step over its seconds", "tokens per second",
     Unit::PerSecond, OverSteps::ByTime, &StepRecord::tokens_per_second},
    {"mfu", "flops of the model, causal attention counted as such, over those of the peak",
     "MFU, causal count", Unit::Share, OverSteps::ByTime, &StepRecord::mfu},
    {"hfu", "flops that the programs run, recomputation included, over those of the peak",
     "HFU, all flops that programs run", Unit::Share, OverSteps::ByTime, &StepRecord::hfu},
    {"step_seconds", "time of the step, without what comes between steps", nullptr, Unit::Seconds,
     OverSteps::Mean, &StepRecord::step_seconds},
};
inline constexpr StepField kFieldsAfterTimes[] = {
    {"elapsed_seconds", "time from this start of the run to the end of the step", nullptr,
     Unit::Seconds, OverSteps::Last, &StepRecord::elapsed_seconds},
    {"joules", "energy of the GPU of the first rank since the step before", nullptr, Unit::None,
     OverSteps::Mean, &StepRecord::joules, false},
    {"peak_bytes", "memory that the plan allocates, of all ranks", nullptr, Unit::Bytes,
     OverSteps::Largest, &StepRecord::peak_bytes},
    {"slowest_rank", "rank whose own work took longest", nullptr, Unit::Count, OverSteps::Last,
     &StepRecord::slowest_rank, false},
    {"slowest_rank_seconds", "own work of the slowest rank, without waiting", nullptr,
     Unit::Seconds, OverSteps::Mean, &StepRecord::slowest_rank_seconds, false},
    {"fastest_rank_seconds", "own work of the fastest rank, without waiting", nullptr,
     Unit::Seconds, OverSteps::Mean, &StepRecord::fastest_rank_seconds, false},
    {"skipped", "1 where the gradient was not finite and the step changed nothing", nullptr,
     Unit::Count, OverSteps::Sum, &StepRecord::skipped, false},
    {"held_out_loss", "loss on held-out data", nullptr, Unit::None, OverSteps::Last,
     &StepRecord::held_out_loss, false},
    {"checkpoint_stall_seconds", "time that the checkpoint after the step stalled training",
     nullptr, Unit::Seconds, OverSteps::Mean, &StepRecord::checkpoint_stall_seconds, false},
};
// All but the step itself, in the order of metrics.jsonl: these two lists, and kTimeParts between.
std::span<const StepField> step_fields();

std::string to_json_line(const StepRecord& record);  // without the newline
// Nothing where it is no JSON object. A figure that is null, or is not there, is not known.
std::optional<StepRecord> parse_step(std::string_view line);
std::vector<Scalar> scalars_of(const StepRecord& record);

// One record for several steps: each field as its row says, over the steps that know it.
StepRecord combine(std::span<const StepRecord> steps);

inline std::optional<double> known(double value) {
  return std::isnan(value) ? std::nullopt : std::optional(value);
}

}  // namespace tessera
