// SPDX-License-Identifier: Apache-2.0
// What a whole run meets: failures, slow nodes, stragglers, and what each of them costs. One table
// has the figures, with the value that is taken where none is given and where that is from.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace tessera {

// Something that slows the whole run while it lasts, because all ranks wait for each other.
struct Slowdown {
  double between_seconds = 0;  // mean, of one rank; 0: never
  double factor = 1;           // steps take longer by it
  double lasts_seconds = 0;    // of a straggler the mean; of a slow node until it is noticed
};

struct RunConditions {
  double rank_failure_seconds = 0;  // mean time between failures of one rank; 0: never
  double detect_seconds = 0;        // from a failure until the run has ended
  double restart_seconds = 0;       // from there until steps are made again
  double stall_seconds = 0;         // that a checkpoint stalls training
  double write_seconds = 0;         // until it can be restarted from
  double repair_seconds = 0;        // that a failed node is away
  double planned_seconds = 0;       // between interruptions on purpose; 0: none
  Slowdown slow_node = {};          // replaced once it is noticed
  Slowdown straggler = {};          // passes by itself
  int node_ranks = 1;               // ranks that are replaced together
};

struct ConditionRow {
  std::string_view name;  // of the option, and in JSON
  double RunConditions::*seconds;
  std::string_view usual, source;  // the value where none is given, and where it is from
  std::string_view summary;
};
std::span<const ConditionRow> condition_rows();

struct SlowdownRow {
  std::string_view name;
  Slowdown RunConditions::*slowdown;
  std::string_view summary;
};
std::span<const SlowdownRow> slowdown_rows();

// "50000h,1.1,2h": mean time between two of one rank, factor, how long. Throws a UserError.
Slowdown parse_slowdown(const std::string& text, const std::string& place);

}  // namespace tessera
