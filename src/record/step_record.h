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
  const char* key;              // in metrics.jsonl and TensorBoard
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
    {"loss", nullptr, Unit::None, OverSteps::Last, &StepRecord::loss},
    {"grad_norm", nullptr, Unit::None, OverSteps::Last, &StepRecord::grad_norm},
    {"balance_loss", nullptr, Unit::None, OverSteps::Last, &StepRecord::balance_loss, false},
    {"z_loss", nullptr, Unit::None, OverSteps::Last, &StepRecord::z_loss, false},
    {"load_violation", nullptr, Unit::None, OverSteps::Last, &StepRecord::load_violation, false},
    {"starving_experts", nullptr, Unit::Count, OverSteps::Last, &StepRecord::starving_experts,
     false},
    {"lr", nullptr, Unit::None, OverSteps::Last, &StepRecord::lr},
    {"tokens", nullptr, Unit::Count, OverSteps::Last, &StepRecord::tokens},
    {"tokens_per_second", "tokens per second", Unit::PerSecond, OverSteps::ByTime,
     &StepRecord::tokens_per_second},
    {"mfu", "MFU, causal count", Unit::Share, OverSteps::ByTime, &StepRecord::mfu},
    {"hfu", "HFU, all flops that programs run", Unit::Share, OverSteps::ByTime, &StepRecord::hfu},
    {"step_seconds", nullptr, Unit::Seconds, OverSteps::Mean, &StepRecord::step_seconds},
};
inline constexpr StepField kFieldsAfterTimes[] = {
    {"elapsed_seconds", nullptr, Unit::Seconds, OverSteps::Last, &StepRecord::elapsed_seconds},
    {"joules", nullptr, Unit::None, OverSteps::Mean, &StepRecord::joules, false},
    {"peak_bytes", nullptr, Unit::Bytes, OverSteps::Largest, &StepRecord::peak_bytes},
    {"slowest_rank", nullptr, Unit::Count, OverSteps::Last, &StepRecord::slowest_rank, false},
    {"slowest_rank_seconds", nullptr, Unit::Seconds, OverSteps::Mean,
     &StepRecord::slowest_rank_seconds, false},
    {"fastest_rank_seconds", nullptr, Unit::Seconds, OverSteps::Mean,
     &StepRecord::fastest_rank_seconds, false},
    {"skipped", nullptr, Unit::Count, OverSteps::Sum, &StepRecord::skipped, false},
    {"held_out_loss", nullptr, Unit::None, OverSteps::Last, &StepRecord::held_out_loss, false},
    {"checkpoint_stall_seconds", nullptr, Unit::Seconds, OverSteps::Mean,
     &StepRecord::checkpoint_stall_seconds, false},
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
