// SPDX-License-Identifier: Apache-2.0
#include "report/comparison.h"

#include <cmath>
#include <map>

#include "config/config_fields.h"
#include "report/figure_text.h"

namespace tessera {
namespace {

using Settings = std::map<std::string, std::string>;

// Everything that may explain a difference, so not the folders.
Settings settings_of(const RunRecord& record) {
  Settings settings;
  if (record.config) {
    Config config = *record.config;
    for (const ConfigField& field : config_fields(config))
      if (field.key != "run.out" && field.key != "run.trace")
        settings[std::string(field.key)] = field_text(field);
    for (const auto& [key, text] : config.model) settings["model." + key] = text;
    settings["mesh"] = to_string(Mesh(config.mesh));
  }
  if (record.facts) {
    settings["device"] = record.facts->device;
    settings["devices"] =
        fmt::format("{} {}", record.facts->device_count, record.facts->device_unit);
    settings["nodes"] = fmt::format("{}", record.facts->nodes);
    settings["ranks as"] = record.facts->ranks_as;
    settings["threads per rank"] = fmt::format("{}", record.facts->threads_per_rank);
  }
  return settings;
}

std::vector<SettingDifference> differing(const Settings& a, const Settings& b) {
  Settings all = a;
  all.insert(b.begin(), b.end());
  const auto text = [](const Settings& settings, const std::string& key) {
    const auto found = settings.find(key);
    if (found == settings.end()) return std::string(kNotRecorded);
    return found->second.empty() ? std::string("(empty)") : found->second;
  };
  std::vector<SettingDifference> differences;
  for (const auto& [key, unused] : all)
    if (text(a, key) != text(b, key)) differences.push_back({key, text(a, key), text(b, key)});
  return differences;
}

std::optional<double> positive(int64_t bytes) {
  return bytes > 0 ? std::optional(static_cast<double>(bytes)) : std::nullopt;
}

std::vector<FigureDifference> figures_of(const RunFigures& a, const RunFigures& b) {
  std::vector<FigureDifference> figures{
      {"time per step", Unit::Seconds, known(a.mean.step_seconds), known(b.mean.step_seconds)}};
  for (const StepField& field : step_fields())
    if (field.label)
      figures.push_back(
          {field.label, field.unit, known(field.of(a.mean)), known(field.of(b.mean))});
  figures.push_back({"MFU, full attention counted", Unit::Share, a.mfu_full, b.mfu_full});
  figures.push_back({"planned peak of the fullest rank", Unit::Bytes, positive(a.peak_bytes),
                     positive(b.peak_bytes)});
  figures.push_back({"held-out loss", Unit::None, a.held_out_loss, b.held_out_loss});
  return figures;
}

std::vector<PartDifference> parts_of(const RunFigures& a, const RunFigures& b) {
  if (!a.split() || !b.split()) return {};
  std::vector<PartDifference> parts, between;
  for (const TimePart& part : kTimeParts)
    (part.scope == TimeScope::Run ? between : parts)
        .push_back({part.label, known(a.split()->*part.seconds).value_or(0),
                    known(b.split()->*part.seconds).value_or(0)});
  const double in_a = a.split()->step_seconds(), difference = b.split()->step_seconds() - in_a;
  constexpr double kSame = 1e-3;  // of the step: a smaller difference is not explained
  // Counts only parts that changed in the same direction as the step: they add up to 1.
  double same_way = 0;
  for (const PartDifference& part : parts)
    if ((part.b - part.a) * difference > 0) same_way += part.b - part.a;
  if (std::abs(difference) > kSame * in_a)
    for (PartDifference& part : parts)
      if ((part.b - part.a) * difference > 0) part.explains = (part.b - part.a) / same_way;
  parts.insert(parts.end(), between.begin(), between.end());
  return parts;
}

std::optional<LossDifference> loss_difference(const RunRecord& a, const RunRecord& b) {
  std::map<int64_t, double> losses;
  for (const StepRecord& step : a.steps)
    if (known(step.loss)) losses[step.step] = step.loss;
  LossDifference difference;
  for (const StepRecord& step : b.steps) {
    const auto found = losses.find(step.step);
    if (!known(step.loss) || found == losses.end()) continue;
    const double apart = step.loss - found->second;
    ++difference.steps;
    difference.mean += apart;
    difference.last = apart;
    difference.last_step = step.step;
    if (std::abs(apart) >= difference.largest) {
      difference.largest = std::abs(apart);
      difference.largest_step = step.step;
    }
  }
  if (difference.steps == 0) return {};
  difference.mean /= static_cast<double>(difference.steps);
  return difference;
}

}  // namespace

Comparison compare(Report a, Report b) {
  Comparison comparison{.a = std::move(a), .b = std::move(b)};
  const RunRecord &first = comparison.a.record, &second = comparison.b.record;
  comparison.settings = differing(settings_of(first), settings_of(second));
  comparison.figures = figures_of(comparison.a.figures, comparison.b.figures);
  comparison.parts = parts_of(comparison.a.figures, comparison.b.figures);
  comparison.loss = loss_difference(first, second);
  return comparison;
}

}  // namespace tessera
