// SPDX-License-Identifier: Apache-2.0
#include "mesh/plan.h"

#include <algorithm>
#include <charconv>
#include <numeric>

#include "core/choices.h"
#include "core/error.h"
#include "mesh/axis_sizes.h"
#include "mesh/expert_axes.h"

namespace tessera {
namespace {

void require_known_axis(const Axis& axis) {
  if (const AxisRow* row = find_axis(axis.name); row && row->name == axis.name) return;
  const std::string near = nearest_name(axis.name, axis_names());
  throw user_error("mesh axis {} is not known{}", axis.name,
                   near.empty() ? "" : fmt::format(": did you mean {}?", near))
      .help(fmt::format("use {}", join_choices(axis_names())));
}

bool shards_states(const Mesh& mesh) { return sizes_of(mesh.axes()).sharding_axis() != nullptr; }

std::vector<std::string> names_of(bool AxisRow::*which) {
  std::vector<std::string> names;
  for (const AxisRow& row : kAxes)
    if (row.*which) names.emplace_back(row.name);
  return names;
}

// Those of several ranks, in the order of the mesh: of an axis that the mesh lacks there is one.
AxisIds asked_shard_axes(const std::vector<std::string>& asked, const Mesh& mesh) {
  AxisIds axes;
  for (const std::string& name : asked) {
    const AxisRow* row = find_axis(name);
    if (!row || row->name != name || !row->replicates_parameters)
      throw user_error(
          "plan.shard_axes names {}, along which ranks do not hold the same parameters", name)
          .at("plan.shard_axes")
          .help(fmt::format("use one or more of {}, such as fsdp,cp",
                            join_choices(names_of(&AxisRow::replicates_parameters))));
    if (sizes_of(mesh.axes())[row->axis] > 1) axes.push_back(mesh.find(name));
  }
  std::sort(axes.begin(), axes.end());
  if (std::adjacent_find(axes.begin(), axes.end()) != axes.end())
    throw user_error("plan.shard_axes names an axis twice").at("plan.shard_axes");
  return axes;
}

void require_sharding_axes_are_sharded(const std::vector<std::string>& asked, const Mesh& mesh) {
  for (const AxisRow& row : kAxes) {
    const int size = sizes_of(mesh.axes())[row.axis];
    if (!row.shards_states || size == 1 ||
        std::find(asked.begin(), asked.end(), row.name) != asked.end())
      continue;
    throw user_error("mesh {} = {} shards states, but plan.shard_axes leaves it out", row.name,
                     size)
        .at("plan.shard_axes")
        .help(fmt::format("add {} to plan.shard_axes, or put the ranks on dp", row.name));
  }
}

AxisIds shard_axes_of(const PlanRequest& request, const Mesh& mesh, int zero) {
  if (request.shard_axes.empty()) return zero > 0 ? usual_shard_axes(mesh) : AxisIds{};
  AxisIds axes = asked_shard_axes(request.shard_axes, mesh);
  require_sharding_axes_are_sharded(request.shard_axes, mesh);
  if (zero == 0 && !axes.empty())
    throw user_error("plan.shard_axes shards states over {}, but plan.zero = 0 keeps them whole",
                     mesh.word(axes))
        .at("plan.zero")
        .help("set plan.zero to 1, 2 or 3, or leave out plan.shard_axes");
  return axes;
}

// On one rank there is nothing to share, and nothing is said against any level.
void require_zero_fits(int zero, const Mesh& mesh, const AxisIds& shard_axes) {
  if (zero < 0 || zero > 3)
    throw user_error("plan.zero is {}, but must be auto, 0, 1, 2 or 3", zero).at("plan.zero");
  if (const AxisRow* axis = sizes_of(mesh.axes()).sharding_axis(); zero == 0 && axis)
    throw user_error("mesh {} = {} shards states, but plan.zero = 0 keeps them whole", axis->name,
                     sizes_of(mesh.axes())[axis->axis])
        .at("plan.zero")
        .help("leave plan.zero out, or put the ranks on dp");
  if (zero > 0 && mesh.num_ranks() > 1 && shard_axes.empty()) {
    const std::string usual = join_choices(names_of(&AxisRow::splits_data));
    throw user_error("plan.zero = {} shards states over {}, but the mesh {} has none of them", zero,
                     usual, to_string(mesh))
        .at("plan.zero")
        .help(fmt::format("leave plan.zero out, or add {} to the mesh", usual));
  }
}

// Weights of a shard come whole for each use, which is what zero = 3 does; what a block is
// recomputed from is all that it keeps.
void require_offload_fits(const PlanRequest& request, int zero, const AxisIds& shard_axes) {
  if (request.offload.states == OffloadedStates::Parameters && zero < 3 && !shard_axes.empty())
    throw user_error(
        "plan.offload keeps parameters on the host, but plan.zero = {} keeps whole "
        "ones on the device",
        zero)
        .at("plan.offload")
        .help("set plan.zero = 3, or plan.offload = states");
  if (request.offload.update_on_host && request.offload.states == OffloadedStates::None)
    throw user_error("plan.offload_update is host, but plan.offload keeps no states there")
        .at("plan.offload_update")
        .help("set plan.offload to moments, states or parameters");
  if (request.offload.activations && request.recompute.kind == RecomputeKind::Blocks)
    throw user_error("plan.offload keeps activations on the host, but plan.recompute leaves none")
        .at("plan.offload")
        .help("set plan.recompute to none, cheap, attention or block_keep_attention");
}

bool has_own_dims(const PlanRequest& request, std::string_view axis) {
  return std::any_of(request.dims.begin(), request.dims.end(),
                     [&](const auto& entry) { return entry.first == axis; });
}

// tp takes what it can of the key/value heads, the rest divides the queries of each.
bool heads_divide(const PlanSizes& sizes, int64_t tp) {
  const int64_t shared = std::gcd(tp, sizes.kv_heads);
  return sizes.heads / sizes.kv_heads % (tp / shared) == 0;
}

void require_heads_divide(const PlanRequest& request, const PlanSizes& sizes) {
  const AxisSizes asked = sizes_of(request.mesh);
  const int tp = asked[AxisKind::Tp], cp = asked[AxisKind::Cp];
  if (sizes.heads == 0 || has_own_dims(request, "tp")) return;
  if (!heads_divide(sizes, tp)) {
    std::vector<int64_t> good;
    for (int64_t n = 1; n <= sizes.heads; ++n)
      if (heads_divide(sizes, n)) good.push_back(n);
    throw user_error("cannot shard heads ({}) over tp ({})", sizes.heads, tp)
        .at("mesh.tp")
        .help(fmt::format("with kv_heads = {} use tp = {}", sizes.kv_heads, join_choices(good)));
  }
  const int64_t left = sizes.kv_heads / std::gcd<int64_t>(tp, sizes.kv_heads);
  if (request.context != ContextKind::Ulysses || left % cp == 0) return;
  std::vector<int64_t> good;
  for (int64_t n = 1; n <= left; ++n)
    if (left % n == 0) good.push_back(n);
  throw user_error("cannot shard kv_heads ({}) over {}cp ({}) by ulysses", sizes.kv_heads,
                   tp > 1 ? fmt::format("tp ({}) x ", tp) : "", cp)
      .at("mesh.cp")
      .help(fmt::format("use cp = {}, or plan.context = ring", join_choices(good)));
}

// Of two axes that split the sequence the first cuts the larger pieces: those of cp, which tp cuts
// once more between its own sums.
void require_cp_before_tp(const PlanRequest& request, const Mesh& asked) {
  const AxisSizes ranks = sizes_of(request.mesh);
  if (!request.sequence_parallel || ranks[AxisKind::Cp] == 1 || ranks[AxisKind::Tp] == 1) return;
  std::vector<Axis> axes = request.mesh;
  const auto named = [&](std::string_view name) {
    return std::find_if(axes.begin(), axes.end(),
                        [&](const Axis& axis) { return axis.name == name; });
  };
  const auto cp = named("cp"), tp = named("tp");
  if (cp < tp) return;
  const std::string given = to_string(asked);
  std::iter_swap(cp, tp);
  throw user_error(
      "mesh {} has tp before cp, and plan.sequence_parallel splits the sequence over "
      "both",
      given)
      .at("mesh")
      .help(fmt::format("put cp before tp: {}", to_string(Mesh(axes))));
}

// Where tp does not divide the key/value heads: the largest common divisor on kv_heads, the rest on
// group.
std::vector<Axis> split_tensor_axis(const PlanRequest& request, int64_t kv_heads) {
  std::vector<Axis> axes;
  for (const Axis& axis : request.mesh) {
    const auto shared =
        static_cast<int>(std::gcd<int64_t>(axis.size, std::max<int64_t>(kv_heads, 1)));
    if (axis.name != "tp" || kv_heads == 0 || shared == axis.size) {
      axes.push_back(axis);
      continue;
    }
    // In this order: a sequence that both split is gathered over tp.kv alone for keys and values.
    axes.push_back({"tp.group", axis.size / shared});
    axes.push_back({"tp.kv", shared});
  }
  return axes;
}

std::vector<std::string> default_dims(const AxisRow& row, bool sequence_parallel) {
  std::vector<std::string> dims(row.dims().begin(), row.dims().end());
  if (row.axis == AxisKind::Tp && sequence_parallel) dims.emplace_back("seq");
  return dims;
}

// The user's own list, or the default one. That of tp serves both of its parts, less what belongs
// to the other.
std::vector<std::string> dims_of_axis(const PlanRequest& request, const std::string& axis) {
  const AxisRow& row = *find_axis(axis);
  std::vector<std::string> dims = with_experts(default_dims(row, request.sequence_parallel),
                                               std::string(row.name), request.experts);
  for (const auto& [name, own] : request.dims)
    if (name == row.name) {
      dims = own;
      break;
    }
  if (axis == "tp.kv") std::erase(dims, "group");
  if (axis == "tp.group") std::erase(dims, "kv_heads");
  return dims;
}

}  // namespace

AxisIds usual_shard_axes(const Mesh& mesh) {
  AxisIds axes;
  for (const AxisKind axis : sizes_of(mesh.axes()).state_axes())
    axes.push_back(mesh.find(kAxes[static_cast<size_t>(axis)].name));
  std::sort(axes.begin(), axes.end());
  return axes;
}

int zero_level(const std::optional<int>& asked, const Mesh& mesh) {
  return asked.value_or(shards_states(mesh) ? 3 : 0);
}

const std::vector<std::string>& Plan::dims_of(int axis, std::string_view op, bool& own) const {
  own = false;
  for (const OwnDims& entry : own_dims)
    if (entry.axis == axis && entry.op == op) {
      own = true;
      return entry.dims;
    }
  return dims[static_cast<size_t>(axis)];
}

Plan make_plan(const PlanRequest& request, const PlanSizes& sizes) {
  for (const Axis& axis : request.mesh) require_known_axis(axis);
  const Mesh asked(request.mesh);
  const int zero = zero_level(request.zero, asked);
  require_zero_fits(zero, asked, shard_axes_of(request, asked, zero));
  require_offload_fits(request, zero, shard_axes_of(request, asked, zero));
  require_expert_axes(request.experts);
  require_heads_divide(request, sizes);
  require_cp_before_tp(request, asked);
  Plan plan{.mesh = Mesh(split_tensor_axis(request, sizes.kv_heads)),
            .dims = {},
            .own_dims = {},
            .zero = zero,
            .shard_axes = {},
            .zigzag = 1,
            .reduce_dtype = request.reduce_dtype,
            .tp_overlap = request.tp_overlap,
            .pipeline_axis = -1,
            .schedule = request.schedule,
            .actions = request.actions,
            .chunks = request.chunks,
            .recompute = request.recompute,
            .blocks_per_stage = request.blocks_per_stage,
            .offload = request.offload};
  if (sizes_of(request.mesh)[AxisKind::Pp] > 1) plan.pipeline_axis = plan.mesh.find("pp");
  for (const Axis& axis : plan.mesh.axes()) plan.dims.push_back(dims_of_axis(request, axis.name));
  for (const auto& own : request.dims)
    if (std::none_of(request.mesh.begin(), request.mesh.end(),
                     [&](const Axis& axis) { return axis.name == own.first; }))
      throw user_error("plan.dims names axis {}, which the mesh does not have", own.first)
          .help(fmt::format("add {} to the mesh, or remove plan.dims.{}", own.first, own.first));
  const int cp = plan.mesh.find("cp");
  if (cp >= 0 && plan.mesh.size(cp) > 1) {
    if (request.context == ContextKind::Ulysses)
      for (const char* op : {"attention", "attention_grad"})
        plan.own_dims.push_back({.op = op, .axis = cp, .dims = {"kv_heads"}});
    else
      plan.zigzag = plan.mesh.size(cp);
  }
  if (sizes.experts > 0)
    request.dispatch == DispatchKind::Exchange ||
            (request.dispatch == DispatchKind::Auto && exchange_sends_less(plan, sizes.top_k))
        ? exchange_rows_of_experts(plan)
        : gather_tokens_for_experts(plan);
  plan.shard_axes = shard_axes_of(request, plan.mesh, zero);  // make_plan may have split tp
  return plan;
}

namespace {

std::string_view without_blanks_around(std::string_view text) {
  const size_t first = text.find_first_not_of(' ');
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

}  // namespace

std::vector<std::string> parse_axis_list(std::string_view text) {
  std::vector<std::string> axes;
  while (!text.empty()) {
    const size_t end = std::min(text.find_first_of(",+"), text.size());
    axes.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return axes;
}

std::vector<Axis> parse_mesh(std::string_view text) {
  std::vector<Axis> axes;
  const auto fail = [&] {
    throw user_error("mesh {} is not a list of axis=size", text).help("write it as dp=2,tp=2");
  };
  std::string_view rest = text;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find(','), rest.size());
    const std::string_view entry = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    const size_t equals = entry.find('=');
    if (equals == std::string_view::npos) fail();
    Axis axis{std::string(without_blanks_around(entry.substr(0, equals))), 0};
    const std::string_view number = without_blanks_around(entry.substr(equals + 1));
    const auto [last, error] =
        std::from_chars(number.data(), number.data() + number.size(), axis.size);
    if (axis.name.empty() || error != std::errc() || last != number.data() + number.size()) fail();
    if (std::ranges::find(axes, axis.name, &Axis::name) != axes.end())
      throw user_error("mesh axis {} is given twice", axis.name);
    axes.push_back(std::move(axis));
  }
  return axes;
}

}  // namespace tessera
