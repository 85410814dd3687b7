// SPDX-License-Identifier: Apache-2.0
// A comparison as tables and as JSON; what one of the runs lacks is said to be not recorded.
#include <algorithm>
#include <cmath>

#include "core/short_text.h"
#include "files/json.h"
#include "report/comparison.h"
#include "report/figure_text.h"

namespace tessera {
namespace {

std::string value_text(const FigureDifference& figure, const std::optional<double>& value) {
  if (!value) return kNotRecorded;
  if (figure.unit == "s") return seconds_text(value);
  if (figure.unit == "%") return percent_text(value);
  if (figure.unit == "B") return short_bytes(static_cast<int64_t>(*value));
  return *value > 100 ? rate_text(value) : loss_text(value);
}

std::string change_text(const FigureDifference& figure) {
  if (!figure.a || !figure.b) return "";
  if (figure.unit == "%") return fmt::format("{:+.1f} points", 100 * (*figure.b - *figure.a));
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
  DocumentTable table{.heading = "Figures", .columns = {"", "A", "B", "B against A"}, .rows = {}};
  for (const FigureDifference& figure : comparison.figures)
    table.rows.push_back({figure.name, value_text(figure, figure.a), value_text(figure, figure.b),
                          change_text(figure)});
  return table;
}

DocumentTable parts_table(const Comparison& comparison) {
  DocumentTable table{.heading = "What explains the difference in time",
                      .columns = {"part of a step", "A", "B", "B - A", "explains"},
                      .rows = {}};
  for (const PartDifference& part : comparison.parts)
    table.rows.push_back(
        {part.part, seconds_text(part.a), seconds_text(part.b),
         fmt::format("{}{}", part.b < part.a ? "-" : "+", seconds_text(std::abs(part.b - part.a))),
         part.explains ? percent_text(part.explains) : ""});
  if (comparison.parts.empty())
    table.note = "The parts of a step were not recorded in both.";
  else
    table.note =
        "Shares are of what made the step longer, or shorter; a part that went the other way has "
        "none. What lies between steps comes on top of the step.";
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
      {"steps that both have", fmt::format("{}", loss.steps)},
      {fmt::format("B - A at step {}", loss.last_step), fmt::format("{:+.3g}", loss.last)},
      {"mean of B - A", fmt::format("{:+.3g}", loss.mean)},
      {fmt::format("largest, at step {}", loss.largest_step), fmt::format("{:.3g}", loss.largest)}};
  return table;
}

// One sentence: how much longer, and mostly why.
std::string verdict_of(const Comparison& comparison) {
  const auto &a = comparison.a.figures.split, &b = comparison.b.figures.split;
  if (!a || !b || a->step() <= 0 || b->step() <= 0)
    return "The time of a step cannot be compared part by part: it was not recorded in both.";
  const auto most = std::max_element(comparison.parts.begin(), comparison.parts.end(),
                                     [](const PartDifference& x, const PartDifference& y) {
                                       return x.explains.value_or(0) < y.explains.value_or(0);
                                     });
  if (!most->explains) return "A step of B takes as long as one of A.";
  return fmt::format(
      "A step of B takes {:.3g} times the time of one of A; of what made it {}, {} explains {}.",
      b->step() / a->step(), b->step() > a->step() ? "longer" : "shorter", most->part,
      percent_text(most->explains));
}

Json or_null(const std::optional<double>& value) { return value ? Json(*value) : Json(); }

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
        {{"name", figure.name}, {"a", or_null(figure.a)}, {"b", or_null(figure.b)}});
  for (const PartDifference& part : comparison.parts)
    json["results"].push_back({{"part", part.part},
                               {"a_seconds", part.a},
                               {"b_seconds", part.b},
                               {"explains", or_null(part.explains)}});
  if (comparison.loss)
    json["loss"] = {
        {"steps", comparison.loss->steps},     {"last_step", comparison.loss->last_step},
        {"last", comparison.loss->last},       {"mean", comparison.loss->mean},
        {"largest", comparison.loss->largest}, {"largest_step", comparison.loss->largest_step}};
  return json.dump();
}

}  // namespace tessera
