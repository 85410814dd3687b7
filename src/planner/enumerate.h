// SPDX-License-Identifier: Apache-2.0
// All candidates of a task whose sizes go together; how many others there were, by what is in the
// way.
#pragma once

#include <map>
#include <vector>

#include "planner/divisible.h"

namespace tessera {

struct Enumeration {
  std::vector<Candidate> possible;
  // A mesh that no other knob can mend counts once.
  std::map<Obstacle, int64_t> dropped;
};

Enumeration enumerate(const PlanTask& task);

}  // namespace tessera
