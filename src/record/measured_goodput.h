// SPDX-License-Identifier: Apache-2.0
// Where the time of a supervised run went: steps that count, at the speed of the fastest ranks that
// it had, and what each kind of loss cost; and what the planner's model of whole runs says for the
// same failures. Productive seconds and losses add up to the time from the first start to the end.
#pragma once

#include <span>
#include <vector>

#include "planner/run_forecast.h"
#include "record/start_record.h"

namespace tessera {

// Steps that count, by the ranks that were there.
struct StepsOnRanks {
  int available = 1, ranks = 1;
  int64_t steps = 0;
  double step_seconds = 0;
};

struct MeasuredGoodput {
  double seconds = 0, productive_seconds = 0;
  std::array<double, kLossKinds> lost_seconds = {};
  int64_t steps = 0;
  int failures = 0, moves = 0;              // moves: saved to continue on other ranks
  double step_seconds = 0;                  // of the fastest ranks
  std::vector<StepsOnRanks> by_ranks = {};  // the most first

  double share() const { return seconds > 0 ? productive_seconds / seconds : 0; }
  bool is_worth_telling() const { return failures + moves > 0 && steps > 0; }
  double lost(LossKind kind) const { return lost_seconds[static_cast<size_t>(kind)]; }
};

// The starts of one run in their order. The time between two supervisors is left out.
MeasuredGoodput measure_goodput(std::span<const StartRecord> starts);

// What a whole run meets, measured on this one.
struct MeasuredRun {
  WholeRun run;
  double first_start_seconds = 0;
};
MeasuredRun measure_conditions(std::span<const StartRecord> starts, const MeasuredGoodput& goodput,
                               double write_seconds);

// The productive share and the shares lost that the model expects of it; nothing where it made no
// step, or the model finds no headway.
struct PredictedGoodput {
  double share = 0;
  std::array<double, kLossKinds> lost_shares = {};
};
std::optional<PredictedGoodput> predict_goodput(const MeasuredRun& measured, int64_t save_every);

// "goodput 81.3 % of 42.1 s: 6.2 % restarting, 5.1 % repeated"
std::string to_line(const MeasuredGoodput& goodput);

}  // namespace tessera
