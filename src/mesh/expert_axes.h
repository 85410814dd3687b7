// SPDX-License-Identifier: Apache-2.0
// The axes that split experts: those that plan.experts names, ep where it is left out. They list
// the dim `expert` before all others.
#pragma once

#include <string>
#include <vector>

#include "mesh/mesh.h"

namespace tessera {

struct Plan;
struct PlanRequest;

// Ops that move rows of tokens to their experts and back.
inline constexpr const char* kMovingOps[] = {"order_routes", "dispatch", "combine"};

// Throws a UserError where plan.experts names an axis that cannot split experts.
void require_expert_axes(const std::vector<std::string>& names);

// plan.expert_room as a factor of the mean: infinity for "worst", kFirstExpertRoom for "auto".
// Throws a UserError where it is neither of these nor a number of at least 1.
double parse_expert_room(const std::string& text);
inline constexpr double kFirstExpertRoom = 1.5;

// The usual list of an axis, by the user's name, with `expert` where it is one of these, and
// without it where it is not.
std::vector<std::string> with_experts(std::vector<std::string> dims, const std::string& axis,
                                      const std::vector<std::string>& names);

// The axes of several ranks that list `expert`, in the order of the mesh.
AxisIds expert_axes(const Plan& plan);

// Tokens are gathered over the axes that split experts, and what experts make of them is scattered
// back: there the ops that move rows split nothing but experts. Throws a UserError where an axis
// that stays split comes after one that is gathered.
void gather_tokens_for_experts(Plan& plan);

// Tokens stay split over these axes, and their rows go to the ranks that have their experts: there
// the ops that move rows split tokens and what they sort of them. Throws a UserError where such an
// axis does not split tokens.
void exchange_rows_of_experts(Plan& plan);

// Whether rows can be exchanged, and are fewer than the tokens that a rank would gather: of n ranks
// that share experts, it gathers those of n - 1, and sends top_k rows of each of its own.
bool exchange_sends_less(const Plan& plan, int64_t top_k);

}  // namespace tessera
