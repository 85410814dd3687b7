// SPDX-License-Identifier: Apache-2.0
// A comparison as tables and as JSON; a figure that one of the runs lacks is "not recorded".
#include <algorithm>
#include <cmath>

#include "core/short_text.h"
#include "files/json.h"
#include "report/comparison.h"
#include "report/figure_text.h"

namespace tessera {
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
