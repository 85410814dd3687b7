// SPDX-License-Identifier: Apache-2.0
#include "report/comparison.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "config/config_fields.h"
#include "core/quantities.h"
#include "files/json.h"
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

// A comparison as tables and as JSON; a figure that one of the runs lacks is "not recorded".
namespace {

std::string change_text(const FigureDifference& figure) {
  if (!figure.a || !figure.b) return "";
  if (figure.unit == Unit::Share)
    return fmt::format("{:+.1f} points", 100 * (*figure.b - *figure.a));
  if (*figure.a == 0) return "";
  return fmt::format("x {:.3g}", *figure.b / *figure.a);
}

DocumentTable settings_table(const Comparison& comparison) {
  DocumentTable table{.heading = "Settings that differ", .columns = {"", "A", "B"}, .rows = {}};
  for (const SettingDifference& setting : comparison.settings)
    table.rows.push_back({setting.key, setting.a, setting.b});
  if (table.rows.empty()) table.note = "None.";
  return table;
}

DocumentTable figures_table(const Comparison& comparison) {
  DocumentTable table{
      .heading = "Figures", .columns = {"", "A", "B", "B compared with A"}, .rows = {}};
  for (const FigureDifference& figure : comparison.figures)
    table.rows.push_back({figure.name, value_text(figure.unit, figure.a),
                          value_text(figure.unit, figure.b), change_text(figure)});
  return table;
}

std::string signed_seconds(double seconds) {
  return (seconds < 0 ? "-" : "+") + seconds_text(std::abs(seconds));
}

DocumentTable parts_table(const Comparison& comparison) {
  DocumentTable table{.heading = "Where the difference in time comes from",
                      .columns = {"part of a step", "A", "B", "B - A"},
                      .rows = {}};
  for (const PartDifference& part : comparison.parts)
    table.rows.push_back(
        {part.part, seconds_text(part.a), seconds_text(part.b), signed_seconds(part.b - part.a)});
  table.note = comparison.parts.empty() ? "The parts of a step were not recorded in both."
                                        : "The time between steps is not part of the step.";
  return table;
}

DocumentTable loss_table(const Comparison& comparison) {
  DocumentTable table{.heading = "Loss at equal steps", .columns = {}, .rows = {}};
  if (!comparison.loss) {
    table.note = "No step has a loss in both.";
    return table;
  }
  const LossDifference& loss = *comparison.loss;
  table.rows = {
      {"steps that both runs have", fmt::format("{}", loss.steps)},
      {fmt::format("B - A at step {}", loss.last_step), fmt::format("{:+.3g}", loss.last)},
      {"mean of B - A", fmt::format("{:+.3g}", loss.mean)},
      {fmt::format("largest, at step {}", loss.largest_step), fmt::format("{:.3g}", loss.largest)}};
  return table;
}

// One sentence: how much longer, and which parts of the step changed most.
std::string verdict_of(const Comparison& comparison) {
  const StepTimes *split_a = comparison.a.figures.split(), *split_b = comparison.b.figures.split();
  const double a = split_a ? split_a->step_seconds() : 0, b = split_b ? split_b->step_seconds() : 0;
  if (a <= 0 || b <= 0)
    return "The time of a step cannot be compared part by part: it was not recorded in both.";
  if (std::none_of(comparison.parts.begin(), comparison.parts.end(),
                   [](const PartDifference& part) { return part.explains.has_value(); }))
    return "A step of B takes as long as one of A.";
  const double difference = b - a;
  std::string changes;
  constexpr double kSmall = 0.05;  // of the difference: smaller changes are only in the table
  for (auto part = comparison.parts.begin(); part + 1 != comparison.parts.end(); ++part)
    if (std::abs(part->b - part->a) > kSmall * std::abs(difference))
      changes += fmt::format("{}{} {}", changes.empty() ? "" : ", ", part->part,
                             signed_seconds(part->b - part->a));
  return fmt::format("A step of B takes {} {} than one of A ({:.3g} times as long): {}.",
                     seconds_text(std::abs(difference)), difference > 0 ? "longer" : "less", b / a,
                     changes);
}

Json known_or_null(const std::optional<double>& value) { return value ? Json(*value) : Json(); }

}  // namespace

Document document_of(const Comparison& comparison) {
  Document document{.title = "Two runs compared",
                    .opening = {fmt::format("A: {}. B: {}.", comparison.a.record.folder.string(),
                                            comparison.b.record.folder.string()),
                                verdict_of(comparison)},
                    .tables = {},
                    .findings = {},
                    .plots = {}};
  for (const auto& table : {settings_table, figures_table, parts_table, loss_table})
    document.tables.push_back(table(comparison));
  return document;
}

std::string to_json_text(const Comparison& comparison) {
  Json json{{"a", comparison.a.record.folder.string()},
            {"b", comparison.b.record.folder.string()},
            {"verdict", verdict_of(comparison)},
            {"settings", Json::array()},
            {"figures", Json::array()},
            {"results", Json::array()},
            {"loss", Json()}};
  for (const SettingDifference& setting : comparison.settings)
    json["settings"].push_back({{"key", setting.key}, {"a", setting.a}, {"b", setting.b}});
  for (const FigureDifference& figure : comparison.figures)
    json["figures"].push_back(
        {{"name", figure.name}, {"a", known_or_null(figure.a)}, {"b", known_or_null(figure.b)}});
  for (const PartDifference& part : comparison.parts)
    json["results"].push_back({{"part", part.part},
                               {"a_seconds", part.a},
                               {"b_seconds", part.b},
                               {"explains", known_or_null(part.explains)}});
  if (comparison.loss)
    json["loss"] = {
        {"steps", comparison.loss->steps},     {"last_step", comparison.loss->last_step},
        {"last", comparison.loss->last},       {"mean", comparison.loss->mean},
        {"largest", comparison.loss->largest}, {"largest_step", comparison.loss->largest_step}};
  return json.dump();
}

}  // namespace tessera
