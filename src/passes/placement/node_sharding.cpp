// SPDX-License-Identifier: Apache-2.0
#include "passes/placement/node_sharding.h"

#include <algorithm>

#include "core/choices.h"
#include "ir/emit.h"
#include "ir/pool.h"
#include "mesh/axes.h"

namespace tessera {
namespace {

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Vocabularies are padded, all other sizes must be divisible.
constexpr std::string_view kPadded = "vocab";

// "dp x tp", parts of an axis under its own name.
std::string user_names(const Mesh& mesh, const AxisIds& axes) {
  std::string names;
  std::string_view last;
  for (const int axis : axes) {
    const std::string_view own = user_name(mesh.axes()[static_cast<size_t>(axis)].name);
    if (own != last) names += fmt::format("{}{}", names.empty() ? "" : " x ", own);
    last = own;
  }
  return names;
}

// The config key that changes the size of a dim.
std::string size_of_user(const std::string& dim) {
  if (dim == "batch") return "train.batch / train.microbatches";
  if (dim == "seq") return "train.seq";
  if (dim == "expert") return "model.experts";
  if (dim == "expert_mlp") return "model.expert_mlp_size";
  if (dim == "shared_mlp") return "model.shared_mlp_size";
  return dim == "mlp" ? "model.mlp_size" : dim;
}

[[noreturn]] void refuse(const Plan& plan, const AxisIds& axes, const std::string& dim,
                         int64_t size) {
  const int64_t parts = plan.mesh.size(axes);
  std::vector<int64_t> good;
  for (int64_t n = 1; n <= std::min(size, 4 * parts); ++n)
    if (size % n == 0) good.push_back(n);
  const std::string names = user_names(plan.mesh, axes);
  throw user_error("cannot shard {} ({}) over {} ({})", dim, size, names, parts)
      .help(fmt::format("use {} = {}, or a multiple of {} for {}", names, join_choices(good), parts,
                        size_of_user(dim)));
}

}  // namespace

NodeSharding::NodeSharding(const Plan& plan, const Graph& graph, const Node& node)
    : plan_(plan), graph_(graph), node_(node) {
  const OpDef& def = op_def(node.op);
  const std::vector<TensorType> operands = types_of(graph, node.operands),
                                results = types_of(graph, node.results);
  if (def.sharding) rule_ = def.sharding({node.op, node.attributes, operands, results});
  axes_.resize(static_cast<size_t>(plan.mesh.num_axes()));
  token_dims_.resize(axes_.size());
  for (int axis = 0; axis < plan.mesh.num_axes(); ++axis)
    axes_[static_cast<size_t>(axis)] = rule_.free ? choose_for_pool(axis) : choose(axis);
  for (const AxisPlacement& place : axes_) {
    if (place.kind != AxisPlacement::Kind::Shard) continue;
    require_division(place.dim);
    if (!contains(rule_.expandable, place.dim)) continue;
    TESSERA_CHECK(expanded_dim_.empty() || expanded_dim_ == place.dim, "{} expands {} and {}",
                  name(node.op), expanded_dim_, place.dim);
    expanded_dim_ = place.dim;
  }
}

bool NodeSharding::has_factor(const std::string& dim) const {
  const auto has = [&](ValueId id) { return graph_.value(id).type.has(dim); };
  return std::any_of(node_.operands.begin(), node_.operands.end(), has) ||
         std::any_of(node_.results.begin(), node_.results.end(), has);
}

int64_t NodeSharding::size_of(const std::string& dim) const {
  for (const auto* ids : {&node_.operands, &node_.results})
    for (const ValueId id : *ids)
      if (graph_.value(id).type.has(dim)) return graph_.value(id).type.size_of(dim);
  return 0;
}

bool NodeSharding::is_pending(ValueId id, int axis) const {
  const Placement& placement = graph_.value(id).placement;
  return !placement.empty() &&
         placement[static_cast<size_t>(axis)].kind == AxisPlacement::Kind::Partial;
}

bool NodeSharding::all_pending(int axis) const {
  return op_def(node_.op).passes_pending &&
         std::all_of(node_.operands.begin(), node_.operands.end(),
                     [&](ValueId id) { return is_pending(id, axis); });
}

// What is moved out of the pool, as sums that are still to be taken.
bool NodeSharding::pool_is_pending(int axis) const {
  bool found = false;
  for (const ValueId id : node_.operands) {
    const TensorType& type = graph_.value(id).type;
    if (!is_pool(type) || !is_float(type.dtype)) continue;
    if (!is_pending(id, axis)) return false;
    found = true;
  }
  return found;
}

bool NodeSharding::reads_own(size_t operand, int axis) const {
  const std::vector<size_t>& own = op_def(node_.op).reads_own;
  return std::find(own.begin(), own.end(), operand) != own.end() &&
         is_pending(node_.operands[operand], axis);
}

AxisPlacement NodeSharding::choose(int axis) const {
  if (plan_.mesh.size(axis) == 1) return replicate();
  if (all_pending(axis)) return partial();
  bool own = false;
  for (const std::string& dim : plan_.dims_of(axis, name(node_.op), own))
    if (has_factor(dim) && !contains(rule_.whole, dim)) return shard(dim, own);
  return replicate();
}

// The first listed dim of the pool: an axis that splits experts leaves tokens whole, one that
// splits what each expert gets splits tokens too, and any other leaves both whole.
AxisPlacement NodeSharding::choose_for_pool(int axis) {
  if (plan_.mesh.size(axis) == 1) return replicate();
  if (pool_is_pending(axis)) return partial();
  bool own = false;
  std::string tokens;
  const std::vector<std::string>& dims = plan_.dims_of(axis, name(node_.op), own);
  for (const std::string& dim : dims)
    if (tokens.empty() && dim != kExpertDim && dim != kSlotDim && has_factor(dim)) tokens = dim;
  for (const std::string& dim : dims) {
    if (dim == kExpertDim) return shard(dim, own);
    if (dim != kSlotDim || tokens.empty()) continue;
    token_dims_[static_cast<size_t>(axis)] = tokens;
    return shard(dim, own);
  }
  return replicate();
}

void NodeSharding::require_division(const std::string& dim) const {
  const AxisIds axes = shard_axes(axes_, dim);
  if (dim != kPadded && size_of(dim) % plan_.mesh.size(axes) != 0)
    refuse(plan_, axes, dim, size_of(dim));
}

Placement NodeSharding::operand(size_t i) const {
  const TensorType& type = graph_.value(node_.operands[i]).type;
  Placement placement = axes_;
  for (size_t axis = 0; axis < placement.size(); ++axis) {
    AxisPlacement& place = placement[axis];
    const std::string& tokens = token_dims_[axis];
    if (place.kind == AxisPlacement::Kind::Partial && rule_.free &&
        !(is_pool(type) && is_float(type.dtype)))
      place = replicate();
    if (place.kind != AxisPlacement::Kind::Shard || type.has(place.dim)) continue;
    const bool own = reads_own(i, static_cast<int>(axis));
    place = own ? partial() : !tokens.empty() && type.has(tokens) ? shard(tokens) : replicate();
  }
  return placement;
}

Placement NodeSharding::result(size_t i) const {
  const TensorType& type = graph_.value(node_.results[i]).type;
  const bool comes_whole = std::find(rule_.whole_results.begin(), rule_.whole_results.end(), i) !=
                           rule_.whole_results.end();
  Placement placement = axes_;
  for (size_t axis = 0; axis < placement.size(); ++axis) {
    AxisPlacement& place = placement[axis];
    if (place.kind != AxisPlacement::Kind::Shard || type.has(place.dim)) continue;
    if (const std::string& tokens = token_dims_[axis]; type.has(tokens)) {
      place = shard(tokens);
      continue;
    }
    place = comes_whole && contains(rule_.expandable, place.dim) ? replicate() : partial();
  }
  return placement;
}

Placement free_placement(const Plan& plan, const TensorType& type) {
  Placement placement(static_cast<size_t>(plan.mesh.num_axes()));
  for (int axis = 0; axis < plan.mesh.num_axes(); ++axis) {
    if (plan.mesh.size(axis) == 1) continue;
    for (const std::string& dim : plan.dims[static_cast<size_t>(axis)])
      if (type.has(dim)) {
        placement[static_cast<size_t>(axis)] = shard(dim);
        break;
      }
  }
  for (const Dim& dim : type.dims) {
    const AxisIds axes = shard_axes(placement, dim.name);
    if (dim.size % plan.mesh.size(axes) != 0) refuse(plan, axes, dim.name, dim.size);
  }
  return placement;
}

}  // namespace tessera
