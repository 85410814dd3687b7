// SPDX-License-Identifier: Apache-2.0
// Combinations of a small model, a mesh of up to eight ranks and the choices of a plan that are
// legal: all of those without a pipeline, and covering sets without and with one, in which every
// pair of choices occurs.
#pragma once

#include <string>
#include <vector>

#include "mesh/axis_sizes.h"
#include "verify/verify_plan.h"

namespace tessera {

struct PlanCase {
  std::string model;  // Mlp, Gpt, Llama, Qwen, Moe, DeepSeek
  AxisSizes axes = {};
  int zero = 0;
  bool ulysses = false, sequence_parallel = false;
  int microbatches = 1;
  int chunks = 1;
  std::string schedule = "1f1b";
  std::string recompute = "none";  // as in a config; every: two, sqrt
  std::string experts = "ep";      // axes that split them: ep, ep+tp, cp+tp
  bool exchange = false;           // rows of experts, instead of gathering tokens
  std::string offload = "none";    // as in a config
  bool update_on_host = false;
  int layers = 0;  // 0: two or three; with a pipeline three in every chunk, and one more
  std::string optimizer = "adamw";
  bool in_rings = false;    // plan.tp_overlap = ring
  int64_t lora_rank = 0;    // adapters of all matmuls; 0: none
  std::string frozen = "";  // parameters whose names match; empty: none

  int pp() const { return axes[AxisKind::Pp]; }
  std::string name() const;
  RunSpec spec() const;  // in fp64, on one thread
};

// What every case is verified with.
inline VerifyOptions poisoned() { return {.poison = true}; }

std::vector<PlanCase> all_plan_cases();
std::vector<PlanCase> covering_plan_cases();
// The same plans under another optimizer.
std::vector<PlanCase> with_optimizer(std::vector<PlanCase> cases, const std::string& optimizer);
// All with a pipeline or recomputation; the last two have all axes above 1, without experts and
// with.
std::vector<PlanCase> covering_pipeline_cases();

}  // namespace tessera
