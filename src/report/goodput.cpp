// SPDX-License-Identifier: Apache-2.0
#include "report/goodput.h"

#include <fmt/format.h>

namespace tessera {
namespace {

double mean_written_seconds(const RunRecord& record) {
  double seconds = 0, saved = 0;
  for (const RecordedEvent& event : record.events)
    if (event.kind == "saved") {
      seconds += event.seconds;
      ++saved;
    }
  return saved > 0 ? seconds / saved : 0;
}

std::string share_text(const std::optional<double>& share) {
  return share ? fmt::format("{:.1f} %", 100 * *share) : "unknown";
}

Json start_json(const StartRecord& attempt) {
  return {{"first_step", attempt.first_step},
          {"last_step", attempt.last_step},
          {"seconds", attempt.seconds},
          {"waited_seconds", attempt.waited_seconds},
          {"ranks", attempt.ranks},
          {"available", attempt.available},
          {"mesh", attempt.mesh},
          {"plan", attempt.plan},
          {"end", attempt.end}};
}

}  // namespace

GoodputReport goodput_report(const RunRecord& record) {
  GoodputReport report{.measured = measure_goodput(record.starts), .starts = record.starts};
  if (!record.config || record.config->checkpoint.every <= 0) return report;
  report.predicted = predict_goodput(
      measure_conditions(record.starts, report.measured, mean_written_seconds(record)),
      record.config->checkpoint.every);
  return report;
}

std::vector<GoodputRow> rows_of(const GoodputReport& report) {
  const MeasuredGoodput& measured = report.measured;
  const std::optional<PredictedGoodput>& predicted = report.predicted;
  std::vector<GoodputRow> rows{
      {.name = "productive",
       .summary = "every step once, at the speed of the fastest ranks",
       .measured_seconds = measured.productive_seconds,
       .measured_share = measured.share(),
       .predicted_share = predicted ? std::optional(predicted->share) : std::nullopt}};
  constexpr double kLeastShown = 0.0005;
  for (const LossRow& row : kLosses) {
    const double seconds = measured.lost(row.kind);
    GoodputRow shown{.name = std::string(row.name),
                     .summary = std::string(row.summary),
                     .measured_seconds = seconds,
                     .measured_share = measured.seconds > 0 ? seconds / measured.seconds : 0};
    if (predicted) shown.predicted_share = predicted->lost_shares[static_cast<size_t>(row.kind)];
    if (shown.measured_share < kLeastShown && shown.predicted_share.value_or(0) < kLeastShown)
      continue;
    rows.push_back(std::move(shown));
  }
  return rows;
}

std::vector<std::string> to_lines(const GoodputReport& report) {
  const MeasuredGoodput& measured = report.measured;
  std::vector<std::string> lines{
      fmt::format(
          "goodput {:.1f} % of {:.1f} s, predicted {} for the {} failure{} that there {}",
          100 * measured.share(), measured.seconds,
          share_text(report.predicted ? std::optional(report.predicted->share) : std::nullopt),
          measured.failures, measured.failures == 1 ? "" : "s",
          measured.failures == 1 ? "was" : "were"),
      fmt::format("{:>10} {:>9} {:>10}", "", "measured", "predicted")};
  for (const GoodputRow& row : rows_of(report))
    lines.push_back(fmt::format("{:>10} {:>9} {:>10}  {}", row.name, share_text(row.measured_share),
                                share_text(row.predicted_share), row.summary));
  return lines;
}

Json to_json(const GoodputReport& report) {
  const MeasuredGoodput& measured = report.measured;
  Json json{{"share", measured.share()},
            {"seconds", measured.seconds},
            {"steps", measured.steps},
            {"failures", measured.failures},
            {"moves", measured.moves},
            {"predicted_share", report.predicted ? Json(report.predicted->share) : Json()},
            {"losses", Json::object()},
            {"starts", Json::array()}};
  for (const LossRow& row : kLosses)
    json["losses"][row.name] = {
        {"seconds", measured.lost(row.kind)},
        {"predicted_share", report.predicted
                                ? Json(report.predicted->lost_shares[static_cast<size_t>(row.kind)])
                                : Json()}};
  for (const StartRecord& start : report.starts) json["starts"].push_back(start_json(start));
  return json;
}

std::string ranks_text(const StartRecord& attempt) {
  const std::string ranks = fmt::format("{} rank{}", attempt.ranks, attempt.ranks == 1 ? "" : "s");
  return attempt.ranks == 1 ? ranks : ranks + ", " + attempt.mesh;
}

}  // namespace tessera
