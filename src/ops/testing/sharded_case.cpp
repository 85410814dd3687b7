// SPDX-License-Identifier: Apache-2.0
#include "ops/testing/sharded_case.h"

#include <algorithm>

#include "comm/local/run_ranks.h"
#include "ir/emit.h"
#include "ir/pool.h"
#include "ops/testing/evaluate_graph.h"
#include "passes/placement/localize.h"
#include "passes/placement/node_sharding.h"
#include "passes/placement/propagate_placements.h"

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

namespace {

// The op alone in a class. Batch inputs have the placement that the node needs, streams that of the
// plan's lists.
Module module_of(const SampleCall& call, const ShardedCase& sharded) {
  Graph graph;
  std::vector<ValueId> operands;
  for (size_t i = 0; i < call.operands.size(); ++i)
    operands.push_back(
        graph.add_input({.kind = sharded.arrives_elsewhere ? InputKind::Stream : InputKind::Batch,
                         .value = kNone,
                         .state = {}},
                        std::string(op_def(call.op).operands[i].name), call.operand_types[i]));
  emit(graph, call.op, operands, {.attributes = call.attributes});
  Module module;
  module.name = "sample";
  module.form = Form::Step;
  module.classes.push_back({.name = "only", .graph = std::move(graph)});
  return module;
}

void set_pending(Graph& graph, const ShardedCase& sharded) {
  for (const GraphInput& input : graph.inputs())
    for (const int axis : sharded.pending)
      graph.value(input.value).placement[static_cast<size_t>(axis)] = partial();
  const Node& node = graph.node(0);
  const NodeSharding sharding(sharded.plan, graph, node);
  for (size_t i = 0; i < node.results.size(); ++i)
    graph.value(node.results[i]).placement = sharding.result(i);
}

// Terms of a pending sum, uneven and adding up to one.
double share_of(int index, int parts) {
  return index + 1 < parts ? 0.3 + index
                           : 1.0 - 0.3 * (parts - 1) - (parts - 1) * (parts - 2) / 2.0;
}

HostTensor piece_of(const HostTensor& whole, const Mesh& mesh, int rank, const Value& local) {
  HostTensor piece(local.type, Guard::Operand);
  for (int64_t i = 0; i < piece.size(); ++i) piece.set(i, 0);  // padding is
  const AxisIds pending = partial_axes(local.placement);
  const double share = share_of(mesh.index(rank, pending), mesh.size(pending));
  for_each_run(mesh, rank, whole.type().dims, local.placement,
               [&](int64_t to, int64_t from, int64_t count) {
                 for (int64_t i = 0; i < count; ++i) piece.set(to + i, share * whole.at(from + i));
               });
  return piece;
}

HostTensors inputs_of(const SampleCall& call, const Graph& graph, const Mesh& mesh, int rank) {
  HostTensors inputs;
  size_t operand = 0;
  for (const GraphInput& input : graph.inputs()) {
    const Value& value = graph.value(input.value);
    if (input.kind == InputKind::Rank) {
      HostTensor index(value.type);
      index.set(0, mesh.index(rank, mesh.parse_word(value.name)));
      inputs.emplace(value.name, std::move(index));
    } else {
      inputs.emplace(value.name, piece_of(call.operands[operand++], mesh, rank, value));
    }
  }
  return inputs;
}

std::vector<HostTensors> evaluate_ranks(const SampleCall& call, const Graph& graph,
                                        const Mesh& mesh) {
  std::vector<HostTensors> values(static_cast<size_t>(mesh.num_ranks()));
  const auto evaluate = [&](int rank, RankWorld* world) {
    values[static_cast<size_t>(rank)] =
        evaluate_graph(graph, inputs_of(call, graph, mesh, rank), 1, mesh, world);
  };
  const bool talks = std::ranges::any_of(
      graph.nodes(), [](const Node& node) { return op_def(node.op).communicates; });
  if (talks)
    run_ranks(mesh.num_ranks(), [&](RankWorld& world) { evaluate(world.rank(), &world); });
  else
    for (int rank = 0; rank < mesh.num_ranks(); ++rank) evaluate(rank, nullptr);
  return values;
}

JoinedResult joined(const std::vector<HostTensors>& ranks, const Mesh& mesh, const Value& local,
                    const TensorType& whole) {
  const AxisIds replicas = replicated_axes(local.placement);
  JoinedResult result;
  for (int i = 0; i < mesh.size(replicas); ++i) {
    result.copies.emplace_back(whole);
    for (int64_t at = 0; at < whole.num_elements(); ++at) result.copies.back().set(at, 0);
  }
  for (int rank = 0; rank < mesh.num_ranks(); ++rank) {
    HostTensor& copy = result.copies[static_cast<size_t>(mesh.index(rank, replicas))];
    const HostTensor& piece = ranks[static_cast<size_t>(rank)].at(local.name);
    for_each_run(mesh, rank, whole.dims, local.placement,
                 [&](int64_t from, int64_t to, int64_t count) {
                   for (int64_t i = 0; i < count; ++i)
                     copy.set(to + i, copy.at(to + i) + piece.at(from + i));
                 });
  }
  return result;
}

}  // namespace

std::vector<JoinedResult> run_sharded(const SampleCall& call, const ShardedCase& sharded) {
  Module module = module_of(call, sharded);
  const Graph maths = module.classes[0].graph;
  propagate_placements(sharded.plan).run(module);
  if (!sharded.pending.empty()) set_pending(module.classes[0].graph, sharded);
  localize(sharded.plan).run(module);
  const Graph& graph = module.classes[0].graph;
  const Mesh& mesh = sharded.plan.mesh;
  const std::vector<HostTensors> ranks = evaluate_ranks(call, graph, mesh);
  std::vector<JoinedResult> results;
  for (size_t i = 0; i < call.result_types.size(); ++i) {
    const ValueId id = graph.find_value(maths.value(maths.node(0).results[i]).name);
    TESSERA_CHECK(id != kNone, "result {} has lost its name", i);
    results.push_back(joined(ranks, mesh, graph.value(id), call.result_types[i]));
  }
  return results;
}

}  // namespace tessera
