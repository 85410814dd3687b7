// SPDX-License-Identifier: Apache-2.0
// All combinations of a small model, a mesh of up to eight ranks and the choices of a plan that are
// legal, and a covering set of them in which every pair of choices occurs.
#pragma once

#include <string>
#include <vector>

#include "train/verify_plan.h"

namespace tessera {

struct PlanCase {
  std::string model;  // Mlp, Gpt, Llama, Qwen
  int dp = 1, fsdp = 1, cp = 1, tp = 1;
  int zero = 0;
  bool ulysses = false, sequence_parallel = false;
  int microbatches = 1;

  int ranks() const { return dp * fsdp * cp * tp; }
  std::string name() const;
  VerifyRequest request() const;
};

std::vector<PlanCase> all_plan_cases();
std::vector<PlanCase> covering_plan_cases();

}  // namespace tessera
