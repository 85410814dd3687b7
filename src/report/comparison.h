// SPDX-License-Identifier: Apache-2.0
// Compares two runs, or a run and a simulation: which settings and figures differ, and in which
// parts of the step the time differs.
#pragma once

#include "report/report.h"

namespace tessera {

struct SettingDifference {
  std::string key, a, b;
};

struct FigureDifference {
  std::string name;
  Unit unit = Unit::None;
  std::optional<double> a = {}, b = {};
};

// How a part of the step differs, and its share of the difference in step time.
struct PartDifference {
  std::string part;
  double a = 0, b = 0;
  std::optional<double> explains =
      {};  // absent where steps take the same time, and where it went the other way
};

// Over the steps that both have.
struct LossDifference {
  int64_t steps = 0, last_step = 0;
  double last = 0, mean = 0, largest = 0;  // b - a; the largest is absolute
  int64_t largest_step = 0;
};

struct Comparison {
  Report a, b;
  std::vector<SettingDifference> settings = {};
  std::vector<FigureDifference> figures = {};
  std::vector<PartDifference> parts = {};  // the last: between steps; empty: not recorded in both
  std::optional<LossDifference> loss = {};
};

Comparison compare(Report a, Report b);

Document document_of(const Comparison& comparison);
std::string to_json_text(const Comparison& comparison);

}  // namespace tessera
