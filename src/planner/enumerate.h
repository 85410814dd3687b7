// SPDX-License-Identifier: Apache-2.0
// All candidates of a task whose sizes divide, and how many others there are, by the knob that is
// to blame.
#pragma once

#include <functional>
#include <map>
#include <vector>

#include "planner/divisible.h"

namespace tessera {

struct Enumeration {
  std::vector<Candidate> possible;
  // A mesh that no other knob can repair counts once.
  std::map<Obstacle, int64_t> dropped;
};

// `cancelled` is asked now and then; the enumeration ends where it is true.
Enumeration enumerate(const PlanTask& task, const std::function<bool()>& cancelled = {});

}  // namespace tessera
