// SPDX-License-Identifier: Apache-2.0
// Lower bounds of a candidate: seconds of a step and bytes of a rank. They never exceed what the
// simulator and the memory plan say, so they never rule out a plan that would have been chosen.
#pragma once

#include <functional>
#include <span>
#include <tuple>

#include "planner/step_replay.h"

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
  explicit Floors(const PlanTask& task, int threads = 1);

  // Compiles the profiles that first() needs; `done` is called now and then.
  void prepare(std::span<const Candidate> candidates, const std::function<void()>& done = {});
  // The quick floor's seconds if nothing were recomputed: candidates that differ in recomputation
  // share its profile. Of a candidate that recomputes, the bytes are those of its states.
  Floor first(const Candidate& candidate);
  // With all ranks evenly busy and no bubble: a few sums.
  Floor quick(const Candidate& candidate);
  // The scheduled floor with the seconds of rebuilding nothing and the bytes of everything: a
  // candidate that rebuilds to fit has many profiles, which few need.
  Floor loose(const Candidate& candidate);
  // With every stage as long as its own blocks, in the order of the schedule's table.
  Floor scheduled(const Candidate& candidate);

  double parameters() const { return parameters_; }

 private:
  using ShapeKey = std::pair<Candidate, int>;  // values to recompute
  ShapeKey shape_key(const Candidate& candidate, int values) const;
  const ShapeProfile& shape(const Candidate& candidate, int values);
  const ByClass<StateProfile>& states(const Candidate& candidate);
  const std::vector<int>& blocks_per_stage(const Candidate& candidate);
  const ScheduleTable& table(const Candidate& candidate);
  StageFloor::Hop hop(const Candidate& candidate, const ShapeProfile& profile, int from,
                      int to) const;
  // `by_class`: null where only bytes count, which do not depend on the states' seconds.
  std::vector<StageFloor> stages(const Candidate& candidate, const ShapeProfile& profile,
                                 const ByClass<StateProfile>* by_class);
  double bytes(const Candidate& candidate, const ShapeProfile& profile);
  Floor scheduled(const Candidate& candidate, const ShapeProfile& profile);
  // The fastest number of values to recompute among those that may fit.
  ShapeProfile shape_to_fit(const Candidate& candidate, int& least_values);
  void profile(const std::vector<ShapeKey>& keys, const std::function<void()>& done = {});

  const PlanTask& task_;
  int threads_ = 1;
  double parameters_ = 0;
  std::vector<std::string> classes_;  // by block
  std::map<std::string, int> blocks_of_class_;
  std::map<ShapeKey, ShapeProfile> shapes_;
  std::map<Candidate, ByClass<StateProfile>> states_;
  std::map<std::pair<int64_t, int>, std::vector<int>> cuts_;  // by samples at once, stages
  std::map<std::tuple<std::string, int, int, int64_t>, ScheduleTable> tables_;
};

}  // namespace tessera
