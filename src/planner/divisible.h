// SPDX-License-Identifier: Apache-2.0
// Which sizes of a candidate do not divide, whatever the memory: the cheapest test of a plan.
#pragma once

#include <optional>
#include <string_view>

#include "planner/candidate.h"

namespace tessera {

// Which knob is to blame.
enum class Obstacle : uint8_t { Ranks, Zero, Tensor, Context, Experts, Batch, Pipeline, Offload };
std::string_view name(Obstacle obstacle);     // "tp", "batch"
std::string_view summary(Obstacle obstacle);  // "does not divide heads, mlp or vocabulary ..."

struct Indivisible {
  Obstacle obstacle;
  std::string reason;
};

std::optional<Indivisible> why_not_divisible(const PlanTask& task, const Candidate& candidate);
// Tests tp, cp and ep alone: if they fail, no other knob can help.
std::optional<Indivisible> why_not_shape(const PlanTask& task, const Candidate& candidate);

}  // namespace tessera
