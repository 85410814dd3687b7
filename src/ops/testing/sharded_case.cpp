// SPDX-License-Identifier: Apache-2.0
#include "ops/testing/sharded_case.h"

#include <algorithm>

#include "ir/pool.h"

namespace tessera {
namespace {

constexpr std::string_view kPadded = "vocab";  // the only dim that need not be divisible

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

ShardingRule rule_of(const SampleCall& call) {
  const OpDef& def = op_def(call.op);
  return def.sharding ? def.sharding(call.types()) : ShardingRule{};
}

// The dims that may be split. What lies where in a pool is known at run time, to each rank alone:
// its pieces are not those of one rank's pool, and only whole plans can be compared.
std::vector<std::string> factors(const SampleCall& call, const ShardingRule& rule) {
  std::vector<std::string> names;
  if (rule.free) return names;
  for (const auto* types : {&call.operand_types, &call.result_types})
    for (const TensorType& type : *types)
      for (const Dim& dim : type.dims)
        if (!contains(names, dim.name) && !contains(rule.whole, dim.name) &&
            dim.name != kExpertDim && dim.name != kSlotDim)
          names.push_back(dim.name);
  return names;
}

// Two ranks per axis, unless told otherwise; one list of one dim for each.
Plan plan_of(std::vector<std::string> dims, int ranks = 2) {
  static constexpr const char* kAxisNames[] = {"dp", "tp"};
  Plan plan;
  std::vector<Axis> axes;
  for (std::string& dim : dims) {
    axes.push_back({kAxisNames[axes.size()], ranks});
    plan.dims.push_back(dim.empty() ? std::vector<std::string>{}
                                    : std::vector<std::string>{std::move(dim)});
  }
  plan.mesh = Mesh(std::move(axes));
  return plan;
}

Plan with_own_dim(Plan plan, OpKind op, std::string dim) {
  plan.own_dims.push_back({.op = std::string(name(op)), .axis = 0, .dims = {std::move(dim)}});
  return plan;
}

// The number of pieces into which the plan may split a dim.
int64_t parts_of(const Plan& plan, const std::string& dim) {
  int64_t parts = 1;
  for (int axis = 0; axis < plan.mesh.num_axes(); ++axis) {
    bool listed = contains(plan.dims[static_cast<size_t>(axis)], dim);
    for (const Plan::OwnDims& own : plan.own_dims)
      listed = listed || (own.axis == axis && contains(own.dims, dim));
    if (listed) parts *= plan.mesh.size(axis);
  }
  return parts;
}

// A size that is only in an attribute cannot be increased.
bool divides(const SampleCall& call, const Plan& plan) {
  for (const TensorType& type : call.result_types)
    for (const Dim& dim : type.dims) {
      const bool raised = std::ranges::any_of(
          call.operand_types, [&](const TensorType& operand) { return operand.has(dim.name); });
      if (!raised && dim.name != kPadded && dim.size % parts_of(plan, dim.name) != 0) return false;
    }
  return true;
}

}  // namespace

std::vector<ShardedCase> permitted_placements(const SampleCall& call) {
  const ShardingRule rule = rule_of(call);
  const std::vector<std::string> dims = factors(call, rule);
  std::vector<ShardedCase> cases;
  for (const std::string& dim : dims) {
    cases.push_back({.plan = plan_of({dim})});
    if (contains(rule.expandable, dim)) cases.push_back({.plan = plan_of({dim}, 3)});
    cases.push_back({.plan = with_own_dim(plan_of({dim, dim}), call.op, dim)});
    for (const std::string& other : dims) {
      cases.push_back({.plan = plan_of({dim, other})});
      if (other != dim && dim != kPadded && other != kPadded)
        cases.push_back(
            {.plan = with_own_dim(plan_of({dim}), call.op, other), .arrives_elsewhere = true});
    }
  }
  const OpDef& def = op_def(call.op);
  // Next to an operand that is not split, others need not be sums: one may be a maximum.
  if (def.passes_pending && def.whole_beside_pending.empty()) {
    cases.push_back({.plan = plan_of({"", ""}), .pending = {0, 1}});
    for (const std::string& dim : dims)
      cases.push_back({.plan = plan_of({"", dim}), .pending = {0}});
  }
  std::erase_if(cases, [&](const ShardedCase& c) { return !divides(call, c.plan); });
  return cases;
}

std::string to_string(const ShardedCase& sharded, OpKind op) {
  std::string text = "mesh " + to_string(sharded.plan.mesh) + ", split";
  for (int axis = 0; axis < sharded.plan.mesh.num_axes(); ++axis) {
    bool own = false;
    const auto& list = sharded.plan.dims_of(axis, name(op), own);
    text += fmt::format(" {}={}{}", sharded.plan.mesh.axes()[static_cast<size_t>(axis)].name,
                        list.empty() ? "nothing" : list.front(), own ? "'" : "");
  }
  for (const int axis : sharded.pending)
    text +=
        fmt::format(", pending over {}", sharded.plan.mesh.axes()[static_cast<size_t>(axis)].name);
  if (sharded.arrives_elsewhere)
    text += fmt::format(", operands split along {}", sharded.plan.dims[0].front());
  return text;
}

OpSample grown(const OpSample& sample, const Plan& plan) {
  OpSample larger = sample;
  for (SampleOperand& operand : larger.operands)
    for (Dim& dim : operand.type.dims) {
      if (dim.name == kPadded) continue;
      const int64_t parts = parts_of(plan, dim.name);
      dim.size = (dim.size + parts - 1) / parts * parts;
    }
  return larger;
}

}  // namespace tessera
