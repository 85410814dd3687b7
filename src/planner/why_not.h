// SPDX-License-Identifier: Apache-2.0
// Why a candidate lost against the best one: in one sentence, with the numbers.
#pragma once

#include <span>

#include "planner/trial.h"

namespace tessera {

struct WhyNot {
  Candidate candidate;
  std::string reason;
};

// Knobs that `text` does not name are those of the best trial with the same mesh, else of the best;
// ranks that it does not use go to fsdp. `ranked` is not empty. Throws a UserError.
WhyNot why_not(const PlanTask& task, std::span<const Trial> ranked, std::string_view text);

// "0.812 s slower (1.35 x): 0.700 s of it communication, 0.112 s compute"
std::string compare_steps(const Simulation& slower, const Simulation& faster);

}  // namespace tessera
