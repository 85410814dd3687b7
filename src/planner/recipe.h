// SPDX-License-Identifier: Apache-2.0
// The rule of thumb, to compare the search with: data parallelism to about 1B parameters and 128
// ranks, then FSDP, then checkpointing, HSDP from 256 ranks; context, pipeline and tensor
// parallelism beyond 1,000 ranks, 50B parameters or 10,000 tokens.
#pragma once

#include <string>
#include <vector>

#include "planner/candidate.h"

namespace tessera {

struct Recipe {
  std::vector<Candidate> candidates;  // in the order that the rule tries them; all divide
  std::string indivisible;  // the first that does not, and why: "fsdp=64 ...: ... the batch (96)"
};
Recipe make_recipe(const PlanTask& task, double parameters);

}  // namespace tessera
