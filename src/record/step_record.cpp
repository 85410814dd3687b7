// SPDX-License-Identifier: Apache-2.0
#include "record/step_record.h"

#include <algorithm>

#include "files/json.h"

namespace tessera {
namespace {

std::vector<StepField> make_fields() {
  std::vector<StepField> fields{
      {"loss", nullptr, Unit::None, OverSteps::Last, true, &StepRecord::loss},
      {"grad_norm", nullptr, Unit::None, OverSteps::Last, true, &StepRecord::grad_norm},
      {"lr", nullptr, Unit::None, OverSteps::Last, true, &StepRecord::lr},
      {"tokens", nullptr, Unit::Count, OverSteps::Last, true, &StepRecord::tokens},
      {"tokens_per_second", "tokens per second", Unit::PerSecond, OverSteps::ByTime, true,
       &StepRecord::tokens_per_second},
      {"mfu", "MFU, causal count", Unit::Share, OverSteps::ByTime, true, &StepRecord::mfu},
      {"hfu", "HFU, all flops that programs run", Unit::Share, OverSteps::ByTime, true,
       &StepRecord::hfu},
      {"step_seconds", nullptr, Unit::Seconds, OverSteps::Mean, true, &StepRecord::step_seconds}};
  for (const TimePart& part : kTimeParts)
    if (part.recorded)
      fields.push_back(
          {part.key, nullptr, Unit::Seconds, OverSteps::Mean, true, nullptr, part.seconds});
  const StepField rest[] = {
      {"elapsed_seconds", nullptr, Unit::Seconds, OverSteps::Last, true,
       &StepRecord::elapsed_seconds},
      {"peak_bytes", nullptr, Unit::Bytes, OverSteps::Largest, true, &StepRecord::peak_bytes},
      {"slowest_rank", nullptr, Unit::Count, OverSteps::Last, false, &StepRecord::slowest_rank},
      {"slowest_rank_seconds", nullptr, Unit::Seconds, OverSteps::Mean, false,
       &StepRecord::slowest_rank_seconds},
      {"fastest_rank_seconds", nullptr, Unit::Seconds, OverSteps::Mean, false,
       &StepRecord::fastest_rank_seconds},
      {"skipped", nullptr, Unit::Count, OverSteps::Sum, false, &StepRecord::skipped},
      {"held_out_loss", nullptr, Unit::None, OverSteps::Last, false, &StepRecord::held_out_loss},
      {"checkpoint_stall_seconds", nullptr, Unit::Seconds, OverSteps::Mean, false,
       &StepRecord::checkpoint_stall_seconds}};
  fields.insert(fields.end(), std::begin(rest), std::end(rest));
  return fields;
}

// The steps that know the field.
double combined(const StepField& field, std::span<const StepRecord> steps) {
  double sum = 0, weights = 0, largest = kUnknown, last = kUnknown;
  for (const StepRecord& step : steps) {
    const double value = field.of(step);
    const double weight = field.over_steps == OverSteps::ByTime ? step.step_seconds : 1;
    if (std::isnan(value) || std::isnan(weight)) continue;
    sum += value * weight;
    weights += weight;
    largest = std::fmax(largest, value);
    last = value;
  }
  if (weights <= 0) return kUnknown;
  switch (field.over_steps) {
    case OverSteps::Last:
      return last;
    case OverSteps::Largest:
      return largest;
    case OverSteps::Sum:
      return sum;
    case OverSteps::Mean:
    case OverSteps::ByTime:
      return sum / weights;
  }
  return kUnknown;
}

}  // namespace

std::span<const StepField> step_fields() {
  static const std::vector<StepField> fields = make_fields();
  return fields;
}

std::string to_json_line(const StepRecord& record) {
  Json json{{"step", record.step}};
  for (const StepField& field : step_fields()) {
    const double value = field.of(record);
    if (std::isnan(value) && !field.always) continue;
    const bool whole = field.unit == Unit::Count || field.unit == Unit::Bytes;
    if (whole && !std::isnan(value))
      json[field.key] = static_cast<int64_t>(value);
    else
      json[field.key] = value;  // NaN becomes null, as JSON has no word for it
  }
  return json.dump();
}

std::optional<StepRecord> parse_step(std::string_view line) {
  const Json json = parse_json(line);
  if (!json.is_object()) return {};
  StepRecord record;
  if (const Json* step = json.find("step")) record.step = step->integer().value_or(0);
  for (const StepField& field : step_fields())
    if (const Json* found = json.find(field.key))
      field.of(record) = found->number().value_or(kUnknown);
  return record;
}

std::vector<Scalar> scalars_of(const StepRecord& record) {
  std::vector<Scalar> scalars;
  for (const StepField& field : step_fields())
    if (const double value = field.of(record); field.always || !std::isnan(value))
      scalars.push_back({field.key, value});
  return scalars;
}

StepRecord combine(std::span<const StepRecord> steps) {
  StepRecord all;
  if (!steps.empty()) all.step = steps.back().step;
  for (const StepField& field : step_fields()) field.of(all) = combined(field, steps);
  return all;
}

}  // namespace tessera
