// SPDX-License-Identifier: Apache-2.0
// What a predicted figure leaves out or assumes, said where the figure is printed: one table, a row
// for each of the simulator's limits, shown where it matters to the figure.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/run_spec.h"
#include "sim/simulate.h"

namespace tessera {

// What is predicted, and for whom.
struct Prediction {
  const Cluster& cluster;
  const RunSpec& run;  // with the plan of the step
  const SimulateOptions& options;
  int64_t peak_bytes = 0;
  bool islands = false;
  bool step = true;        // it is simulated, not given
  bool whole_run = false;  // days, goodput and price
};

struct Unknown {
  std::string_view name;  // of the row; "cluster" for what the cluster file says
  std::string text;       // "assumed: tokens choose experts evenly"
};

struct UnknownRow {
  std::string_view name;
  bool (*matters)(const Prediction&);
  std::string_view text;
  std::string (*detail)(const Prediction&) = nullptr;  // of the text's {}
};
std::span<const UnknownRow> unknown_rows();

// First what the cluster file says, then the rows that matter, in the order of the table.
std::vector<Unknown> unknowns_of(const Prediction& prediction);

}  // namespace tessera
