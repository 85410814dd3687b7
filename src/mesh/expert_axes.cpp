// SPDX-License-Identifier: Apache-2.0
#include "mesh/expert_axes.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "core/choices.h"
#include "core/error.h"
#include "mesh/axes.h"
#include "mesh/plan.h"

namespace tessera {
namespace {

const std::vector<std::string> kMayHoldExperts{"ep", "cp", "tp"};
// What an axis splits of experts that it does not divide among its ranks.
constexpr std::string_view kInsideExperts[] = {"slot", "expert_mlp"};

bool contains(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// The dim of the tokens that an axis splits in a value between blocks, or "".
std::string token_dim(const Plan& plan, int axis) {
  if (plan.mesh.size(axis) > 1)
    for (const std::string& dim : plan.dims[static_cast<size_t>(axis)])
      if (dim == "batch" || dim == "seq") return dim;
  return "";
}

void require_inner(const Plan& plan, const AxisIds& gathered) {
  for (const int axis : gathered)
    for (int inner = axis + 1; inner < plan.mesh.num_axes(); ++inner) {
      const std::string dim = token_dim(plan, inner);
      const bool stays = !contains(plan.dims[static_cast<size_t>(inner)], "expert") &&
                         contains(plan.dims[static_cast<size_t>(inner)], "slot");
      if (dim.empty() || dim != token_dim(plan, axis) || !stays) continue;
      std::vector<Axis> axes = plan.mesh.axes();
      std::rotate(axes.begin() + axis, axes.begin() + axis + 1, axes.begin() + inner + 1);
      const auto name = [&](int i) { return plan.mesh.axes()[static_cast<size_t>(i)].name; };
      throw user_error("mesh {} has {} before {}, and tokens are gathered for experts over {}",
                       to_string(plan.mesh), name(axis), name(inner), name(axis))
          .at("mesh")
          .help(fmt::format("put {} after {}: {}", name(axis), name(inner), to_string(Mesh(axes))));
    }
}

}  // namespace

void require_expert_axes(const std::vector<std::string>& names) {
  for (const std::string& name : names)
    if (!contains(kMayHoldExperts, name))
      throw user_error("plan.experts names {}, which cannot split experts", name)
          .at("plan.experts")
          .help(fmt::format("use one or more of {}, such as ep+tp", join_choices(kMayHoldExperts)));
}

double parse_expert_room(const std::string& text) {
  if (text == "worst") return std::numeric_limits<double>::infinity();
  if (text == "auto") return kFirstExpertRoom;
  double room = 0;
  const auto [last, error] = std::from_chars(text.data(), text.data() + text.size(), room);
  if (error != std::errc() || last != text.data() + text.size() || !(room >= 1) ||
      !std::isfinite(room))
    throw user_error("plan.expert_room is {}, but must be worst, auto or a number of at least 1",
                     text)
        .at("plan.expert_room")
        .help("a pool of experts with room 1 has as many rows as a rank gets on average");
  return room;
}

std::vector<std::string> with_experts(std::vector<std::string> dims, const std::string& axis,
                                      const std::vector<std::string>& names) {
  const bool listed = contains(names, axis);
  std::erase(dims, "expert");
  if (!listed) {
    // A data axis that holds no experts has a pool of its own.
    if (axis == "ep") dims.emplace_back("slot");
    return dims;
  }
  for (const std::string_view inside : kInsideExperts) std::erase(dims, inside);
  dims.insert(dims.begin(), "expert");
  return dims;
}

AxisIds expert_axes(const Plan& plan) {
  AxisIds axes;
  for (int axis = 0; axis < plan.mesh.num_axes(); ++axis)
    if (plan.mesh.size(axis) > 1 && contains(plan.dims[static_cast<size_t>(axis)], "expert"))
      axes.push_back(axis);
  return axes;
}

void gather_tokens_for_experts(Plan& plan) {
  const AxisIds axes = expert_axes(plan);
  require_inner(plan, axes);
  for (const int axis : axes)
    for (const char* op : kMovingOps)
      plan.own_dims.push_back({.op = op, .axis = axis, .dims = {"expert"}});
}

bool exchange_sends_less(const Plan& plan, int64_t top_k) {
  const AxisIds axes = expert_axes(plan);
  return plan.mesh.size(axes) > top_k &&
         std::ranges::all_of(axes, [&](int axis) { return !token_dim(plan, axis).empty(); });
}

void exchange_rows_of_experts(Plan& plan) {
  for (const int axis : expert_axes(plan)) {
    const std::string tokens = token_dim(plan, axis);
    const std::string& name = plan.mesh.axes()[static_cast<size_t>(axis)].name;
    if (tokens.empty())
      throw user_error("plan.dispatch = exchange, but {} splits experts and no tokens",
                       user_name(name))
          .at("plan.dispatch")
          .help(user_name(name) == "tp"
                    ? "set plan.sequence_parallel = true, or plan.dispatch = gather"
                    : "use plan.dispatch = gather");
    for (const char* op : kMovingOps)
      plan.own_dims.push_back({.op = op, .axis = axis, .dims = {tokens, "slot"}});
  }
}

}  // namespace tessera
