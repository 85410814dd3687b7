// SPDX-License-Identifier: Apache-2.0
// A run of islands on a cluster: the step of one island, and tokens per second against the number
// of steps between exchanges, beside islands that never exchange and synchronous training.
#pragma once

#include <string>
#include <vector>

#include "files/json.h"
#include "sim/island_exchange.h"
#include "studio/simulated_step.h"

namespace tessera {

struct IslandsForm {
  IslandWire wire = IslandWire::Exact;
  int64_t fragments = 1, delay = 0;
};

struct IslandsRow {
  int64_t every = 0;
  IslandsForm form = {};
  IslandTimes times = {};
  double tokens_per_second = 0;  // of all islands
};

struct SimulatedIslands {
  int islands = 1, ranks = 1;                // of one island
  std::string level = {};                    // that they meet on
  double alone_tokens_per_second = 0;        // of islands that never exchange
  double synchronous_tokens_per_second = 0;  // of dp in place of islands; 0: it cannot be
  std::vector<IslandsRow> rows = {};
};

// Of islands that stream and exchange each fragment every that many steps: a fragment has the steps
// until the next one leaves.
IslandsForm streamed_form(IslandWire wire, int64_t every);

// `step` is of one island of `config`, whose mesh has the axis. Without `every` the one row is as
// the config says, else four for each: exact and int8, whole and streamed.
SimulatedIslands simulate_islands(const Config& config, const SimulatedStep& step,
                                  const std::vector<int64_t>& every, const StepOptions& options);

std::string to_text(const SimulatedIslands& islands);
Json to_json(const SimulatedIslands& islands);

}  // namespace tessera
