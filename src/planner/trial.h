// SPDX-License-Identifier: Apache-2.0
// One candidate, compiled and simulated, as `tessera simulate` would do it. One that does not fit
// is not simulated.
#pragma once

#include <functional>

#include "planner/candidate.h"
#include "sim/simulate.h"

namespace tessera {

struct Trial {
  Candidate candidate;
  std::string refused = {};    // by the compiler, and why
  Simulation simulation = {};  // of one that does not fit: its bytes alone
  bool fits = false;

  // Of the device's memory, or of the host's if that is what lacks.
  int64_t excess_bytes(const PlanTask& task) const;
};

struct Attempt {
  Candidate candidate;
  int least_values =
      0;  // to recompute, where the plan recomputes just enough to fit: with fewer it cannot fit
};

// Whether nobody waits for the trials any more; called before each compilation, from any thread.
using Cancelled = std::function<bool()>;

// Refused, without a reason to show, where it was cancelled.
Trial try_candidate(const PlanTask& task, const Attempt& attempt, const Cancelled& cancelled = {});
// In the order given, whatever the threads.
std::vector<Trial> try_candidates(const PlanTask& task, std::span<const Attempt> attempts,
                                  int threads, const Cancelled& cancelled = {});

}  // namespace tessera
