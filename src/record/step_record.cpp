// SPDX-License-Identifier: Apache-2.0
#include "record/step_record.h"

#include <algorithm>

#include "files/json.h"

namespace tessera {
namespace {

std::vector<StepField> make_fields() {
  std::vector<StepField> fields(std::begin(kFieldsBeforeTimes), std::end(kFieldsBeforeTimes));
  for (const TimePart& part : kTimeParts)
    if (part.recorded)
      fields.push_back({.key = part.key,
                        .meaning = part.label,
                        .unit = Unit::Seconds,
                        .over_steps = OverSteps::Mean,
                        .part = part.seconds});
  fields.insert(fields.end(), std::begin(kFieldsAfterTimes), std::end(kFieldsAfterTimes));
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

Json loads_json(const std::vector<ExpertLoad>& layers) {
  Json json = Json::object();
  for (const ExpertLoad& layer : layers) json[layer.block] = layer.counts;
  return json;
}

std::vector<ExpertLoad> parse_loads(const Json& json) {
  std::vector<ExpertLoad> layers;
  for (const JsonMember& member : json.members()) {
    ExpertLoad layer{.block = member.name, .counts = {}};
    for (const Json& count : member.value.items())
      layer.counts.push_back(static_cast<int32_t>(count.integer().value_or(0)));
    if (!layer.counts.empty()) layers.push_back(std::move(layer));
  }
  return layers;
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
  if (!record.loads.empty()) json["expert_loads"] = loads_json(record.loads);
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
  if (const Json* loads = json.find("expert_loads")) record.loads = parse_loads(*loads);
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
  for (const StepRecord& step : steps)
    if (!step.loads.empty()) all.loads = step.loads;
  return all;
}

}  // namespace tessera
