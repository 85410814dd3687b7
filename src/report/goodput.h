// SPDX-License-Identifier: Apache-2.0
// The goodput of a supervised run beside what the planner's model of whole runs predicts for the
// failures that it had: shares of the time, by kind of loss.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "files/json.h"
#include "record/measured_goodput.h"
#include "record/run_record.h"

namespace tessera {

struct GoodputReport {
  MeasuredGoodput measured;
  std::optional<PredictedGoodput> predicted = {};
  std::vector<StartRecord> starts = {};
};

GoodputReport goodput_report(const RunRecord& record);

// A row for each share that is not zero: what it is, measured, predicted.
struct GoodputRow {
  std::string name, summary;
  double measured_seconds = 0, measured_share = 0;
  std::optional<double> predicted_share = {};
};
std::vector<GoodputRow> rows_of(const GoodputReport& report);

std::vector<std::string> to_lines(const GoodputReport& report);  // for a terminal
Json to_json(const GoodputReport& report);

// "8 ranks, dp=2,tp=2,pp=2"
std::string ranks_text(const StartRecord& attempt);

}  // namespace tessera
