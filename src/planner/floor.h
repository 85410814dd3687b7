// SPDX-License-Identifier: Apache-2.0
// Lower bounds of a candidate: seconds of a step and bytes of a rank. They never exceed what the
// simulator and the memory plan say, so they never rule out a plan that would have been chosen.
#pragma once

#include <tuple>

#include "planner/stage_floor.h"

namespace tessera {

struct Floor {
  double seconds = 0;
  double bytes = 0;
  int values =
      0;  // to recompute, where the plan recomputes just enough to fit: with fewer it cannot fit
};

// Caches what candidates share; not thread-safe.
class Floors {
 public:
  explicit Floors(const PlanTask& task);

  // With all ranks evenly busy and no bubble: a few sums.
  Floor quick(const Candidate& candidate);
  // With every stage as long as its own blocks, in the order of the schedule's table.
  Floor scheduled(const Candidate& candidate);

  double parameters() const { return parameters_; }

 private:
  const ShapeProfile& shape(const Candidate& candidate, int values);
  const ByClass<StateProfile>& states(const Candidate& candidate);
  const std::vector<int>& blocks_per_stage(const Candidate& candidate);
  const ScheduleTable& table(const Candidate& candidate);
  double hop_seconds(const Candidate& candidate, const ShapeProfile& profile) const;
  std::vector<StageFloor> stages(const Candidate& candidate, const ShapeProfile& profile);
  double bytes(const Candidate& candidate, const ShapeProfile& profile);
  // The fastest number of values to recompute among those that may fit.
  ShapeProfile shape_to_fit(const Candidate& candidate, int& least_values);

  const PlanTask& task_;
  double parameters_ = 0;
  std::vector<std::string> classes_;  // by block
  std::map<std::pair<Candidate, int>, ShapeProfile> shapes_;
  std::map<Candidate, ByClass<StateProfile>> states_;
  std::map<std::pair<int64_t, int>, std::vector<int>> cuts_;  // by samples at once, stages
  std::map<std::tuple<std::string, int, int, int64_t>, ScheduleTable> tables_;
};

}  // namespace tessera
