// SPDX-License-Identifier: Apache-2.0
// Follows placements through the local graph from the inputs' alone, by what each op does, and
// compares them with those that localize wrote down.
#include <algorithm>

#include "ir/emit.h"
#include "ir/op_list.h"
#include "ir/pool.h"
#include "ir/ring_pieces.h"
#include "ir/verifier.h"
#include "mesh/group.h"

namespace tessera {
namespace {

using Kind = AxisPlacement::Kind;

bool contains(const std::vector<size_t>& numbers, size_t number) {
  return std::find(numbers.begin(), numbers.end(), number) != numbers.end();
}

bool is_checked(Phase phase) {
  return phase == Phase::Prepare || phase == Phase::Begin || side(phase) != StepSide::Neither;
}

class ClassPlacements {
 public:
  ClassPlacements(const Module& module, const BlockClass& block_class)
      : mesh_(module.mesh), class_(block_class), graph_(block_class.graph), pieces_(mesh_, graph_) {
    placements_.resize(static_cast<size_t>(graph_.num_values()));
    for (const GraphInput& input : graph_.inputs()) of(input.value) = whole(input.value);
  }

  void run() {
    for (const Node& node : graph_.nodes())
      if (is_checked(node.phase)) follow(node);
    for (const GraphOutput& output : graph_.outputs())
      if (output.kind == OutputKind::Stream || output.kind == OutputKind::InputGradient)
        for (const int axis : partial_axes(of(output.value)))
          fail(graph_.value(output.value).name, axis,
               "leaves the block as a sum that is not taken");
  }

 private:
  Placement& of(ValueId id) { return placements_[static_cast<size_t>(id)]; }
  Placement whole(ValueId id) const {
    Placement placement = graph_.value(id).placement;
    placement.resize(static_cast<size_t>(mesh_.num_axes()));
    return placement;
  }

  [[noreturn]] void fail(const std::string& value, int axis, std::string_view what) const {
    check_failed("placements", __FILE__, __LINE__,
                 fmt::format("class {}: %{} on axis {} {}", class_.name, value,
                             mesh_.axes()[static_cast<size_t>(axis)].name, what));
  }

  void follow(const Node& node) {
    const OpDef& def = op_def(node.op);
    for (const ValueId result : node.results) of(result) = whole(result);
    if (def.communicates)
      follow_collective(node);
    else if (node.op == OpKind::wait || node.op == OpKind::take_piece)
      of(node.results[0]) = of(node.operands[0]);
    else if (node.op == OpKind::take_shard)
      follow_cut(node);
    else if (node.op == OpKind::join_pieces)
      follow_join(node);
    else
      for (int axis = 0; axis < mesh_.num_axes(); ++axis)
        rule_of(node, def).free ? follow_moved(node, def, axis) : follow_axis(node, def, axis);
    follow_pieces(node);
    // Masked lookups know their own share: what they give is taken as written, where it is.
    const bool knows_share = rank_operand(node) != nullptr && !cuts_or_joins(node.op);
    for (const ValueId result : node.results)
      if (!knows_share)
        compare(result);
      else if (!graph_.value(result).placement.empty())
        of(result) = whole(result);
  }

  static bool cuts_or_joins(OpKind op) {
    return op == OpKind::take_shard || op == OpKind::take_piece || op == OpKind::join_pieces;
  }

  // All pieces of the dim are there, whatever split it.
  void follow_join(const Node& node) {
    of(node.results[0]) = of(node.operands[1]);
    for (const int axis : mesh_.parse_word(graph_.value(rank_operand(node)->value).name)) {
      AxisPlacement& place = of(node.results[0])[static_cast<size_t>(axis)];
      if (place.is_shard(node.attributes.word("dim"))) place = replicate();
    }
  }

  // A sum that has been round the ring is taken: each rank has that of its own piece.
  void follow_pieces(const Node& node) {
    if (const std::string wrong = pieces_.follow(node); !wrong.empty())
      check_failed("pieces", __FILE__, __LINE__,
                   fmt::format("class {}: what makes %{} reads a piece that {}", class_.name,
                               graph_.value(node.results[0]).name, wrong));
    for (const ValueId result : node.results)
      if (const auto sum = pieces_.whole_sum(result))
        for (const int axis : sum->axes) {
          AxisPlacement& place = of(result)[static_cast<size_t>(axis)];
          if (place.kind == Kind::Partial) place = shard(sum->dim);
        }
  }

  // What localize wrote must be what follows.
  void compare(ValueId id) {
    const Placement& written = graph_.value(id).placement;
    if (written.empty()) return;
    for (size_t axis = 0; axis < written.size(); ++axis)
      if (written[axis].kind != of(id)[axis].kind || written[axis].dim != of(id)[axis].dim)
        fail(graph_.value(id).name, static_cast<int>(axis),
             fmt::format("is said to lie on ({}), but follows as ({})", to_string(mesh_, written),
                         to_string(mesh_, of(id))));
  }

  bool is_rank(ValueId id) const {
    const GraphInput* input = graph_.input_of(id);
    return input && input->kind == InputKind::Rank;
  }

  const GraphInput* rank_operand(const Node& node) const {
    for (const ValueId operand : node.operands)
      if (is_rank(operand)) return graph_.input_of(operand);
    return nullptr;
  }

  // Each rank along the axes that its index names keeps its share of the dim.
  void follow_cut(const Node& node) {
    of(node.results[0]) = of(node.operands[0]);
    const std::string& word = graph_.value(rank_operand(node)->value).name;
    for (const int axis : mesh_.parse_word(word)) {
      AxisPlacement& place = of(node.results[0])[static_cast<size_t>(axis)];
      if (place.kind != Kind::Replicate)
        fail(graph_.value(node.operands[0]).name, axis, "is cut, but it is not whole");
      place = shard(node.attributes.word("dim"));
    }
  }

  void follow_collective(const Node& node) {
    const ValueId from = node.operands[0], to = node.results[0];
    of(to) = of(from);
    const Group group = parse_group(mesh_, node.attributes.word("axes"));
    for (const int axis : group.axes) {
      AxisPlacement& place = of(to)[static_cast<size_t>(axis)];
      const std::string& value = graph_.value(from).name;
      switch (node.op) {
        case OpKind::all_reduce:
        case OpKind::reduce_scatter:
          // The largest of all may be taken of what each rank knows.
          if (place.kind == Kind::Replicate && node.op == OpKind::all_reduce &&
              node.attributes.word("reduction") == "max")
            break;
          if (place.kind != Kind::Partial)
            fail(value, axis, "is summed, but no sum is pending: it would be taken twice");
          place = node.op == OpKind::all_reduce ? replicate() : shard(node.attributes.word("dim"));
          break;
        case OpKind::all_gather:
          if (!place.is_shard(node.attributes.word("dim")))
            fail(value, axis, "is gathered along a dim that is not split");
          place = replicate();
          break;
        case OpKind::all_to_all:
          if (!place.is_shard(node.attributes.word("join")))
            fail(value, axis, "is exchanged along a dim that is not split");
          place = shard(node.attributes.word("split"), true);
          break;
        case OpKind::gather_ends:
          if (place.kind != Kind::Partial)
            fail(value, axis, "is gathered from ranks that have no rows of their own");
          place = replicate();
          break;
        case OpKind::put_rows:
        case OpKind::take_rows: {
          const bool puts = node.op == OpKind::put_rows;
          if (!place.is_shard(puts ? kSlotDim : kExpertDim))
            fail(value, axis, "is exchanged along a dim that is not split");
          place = shard(puts ? kExpertDim : kSlotDim, true);
          break;
        }
        default:
          break;  // a shift leaves it as it is
      }
    }
    // The order of axes on one dim is as written.
    const Placement& written = graph_.value(to).placement;
    for (size_t axis = 0; axis < written.size(); ++axis)
      if (written[axis].kind == of(to)[axis].kind && written[axis].dim == of(to)[axis].dim)
        of(to)[axis].minor = written[axis].minor;
  }

  void follow_axis(const Node& node, const OpDef& def, int axis) {
    const auto at = [&](ValueId id) -> AxisPlacement& { return of(id)[static_cast<size_t>(axis)]; };
    std::string dim;
    bool pending = false;
    for (size_t i = 0; i < node.operands.size(); ++i) {
      const AxisPlacement& place = at(node.operands[i]);
      if (place.kind == Kind::Shard) dim = place.dim;
      pending = pending || (place.kind == Kind::Partial && !contains(def.reads_own, i));
    }
    if (pending) return follow_pending(node, def, axis);
    for (const size_t i : def.reads_own)
      if (dim.empty() && i < node.operands.size() && at(node.operands[i]).kind == Kind::Partial)
        fail(graph_.value(node.operands[i]).name, axis,
             fmt::format("is read as a rank's own part by {}, which splits nothing", def.name));
    for (const ValueId operand : node.operands)
      if (graph_.value(operand).type.has(dim) && !at(operand).is_shard(dim))
        fail(graph_.value(operand).name, axis,
             fmt::format("is not split along {}, as others are", dim));
    const ShardingRule rule = rule_of(node, def);
    const bool expands =
        std::find(rule.expandable.begin(), rule.expandable.end(), dim) != rule.expandable.end();
    for (size_t i = 0; i < node.results.size(); ++i) {
      const ValueId result = node.results[i];
      const bool has = !dim.empty() && graph_.value(result).type.has(dim);
      const bool comes_whole =
          expands && std::find(rule.whole_results.begin(), rule.whole_results.end(), i) !=
                         rule.whole_results.end();
      const bool minor = graph_.value(result).placement.empty()
                             ? false
                             : graph_.value(result).placement[static_cast<size_t>(axis)].minor;
      at(result) = dim.empty() || (comes_whole && !has) ? replicate()
                   : has                                ? shard(dim, minor)
                                                        : partial();
    }
  }

  // Rows move between tokens and a pool on the rank that has both: what splits the slots of the
  // pool splits the tokens, and where experts are split, or rows are sums that are pending, so are
  // the tokens that come out.
  void follow_moved(const Node& node, const OpDef& def, int axis) {
    const auto at = [&](ValueId id) -> AxisPlacement& { return of(id)[static_cast<size_t>(axis)]; };
    const auto pooled = [&](ValueId id) { return is_pool_side(graph_.value(id).type); };
    AxisPlacement pool, tokens;
    for (size_t i = 0; i < node.operands.size(); ++i) {
      const AxisPlacement& place = at(node.operands[i]);
      if (place.kind == Kind::Replicate || contains(def.reads_own, i)) continue;
      (pooled(node.operands[i]) ? pool : tokens) = place;
    }
    if (tokens.kind == Kind::Shard && !reads_pool(node)) pool = shard(kSlotDim);
    if ((tokens.kind == Kind::Shard) != pool.is_shard(kSlotDim) || tokens.kind == Kind::Partial)
      fail(
          graph_.value(node.results[0]).name, axis,
          fmt::format("is moved by {} between tokens and a pool that are not split in the same way",
                      def.name));
    for (size_t i = 0; i < node.operands.size(); ++i)
      if (!is_rank(node.operands[i]))
        require_moved(node, def, i, axis, pooled(node.operands[i]) ? pool : tokens);
    for (const ValueId result : node.results)
      at(result) = pooled(result)                 ? in_pool(result, pool)
                   : tokens.kind == Kind::Shard   ? tokens
                   : pool.kind == Kind::Replicate ? replicate()
                                                  : partial();
  }

  bool reads_pool(const Node& node) const {
    return std::any_of(node.operands.begin(), node.operands.end(),
                       [&](ValueId id) { return is_pool_side(graph_.value(id).type); });
  }

  // What has no slots is each rank's own.
  AxisPlacement in_pool(ValueId id, const AxisPlacement& pool) const {
    const bool lacks = pool.kind == Kind::Shard && !graph_.value(id).type.has(pool.dim);
    return lacks ? partial() : pool;
  }

  void require_moved(const Node& node, const OpDef& def, size_t i, int axis,
                     const AxisPlacement& wanted) const {
    const Value& value = graph_.value(node.operands[i]);
    const AxisPlacement& place =
        placements_[static_cast<size_t>(node.operands[i])][static_cast<size_t>(axis)];
    if (place.kind == Kind::Partial && contains(def.reads_own, i)) return;
    const bool whole = wanted.kind == Kind::Partial && !is_float(value.type.dtype);
    if (place.kind != (whole ? Kind::Replicate : wanted.kind) ||
        (!whole && place.dim != wanted.dim))
      fail(value.name, axis, fmt::format("is not split as others that {} moves are", def.name));
  }

  // Only ops that say so read a sum that is not taken, and then all of what they read is pending,
  // but for operands that they say may be whole.
  void follow_pending(const Node& node, const OpDef& def, int axis) {
    for (size_t i = 0; i < node.operands.size(); ++i) {
      const bool is_pending = of(node.operands[i])[static_cast<size_t>(axis)].kind == Kind::Partial;
      const bool may_be_whole =
          std::find(def.whole_beside_pending.begin(), def.whole_beside_pending.end(), i) !=
          def.whole_beside_pending.end();
      if (is_pending && !def.passes_pending)
        fail(graph_.value(node.operands[i]).name, axis,
             fmt::format("is read by {} as a sum that is not taken", def.name));
      if (!is_pending && !may_be_whole)
        fail(graph_.value(node.operands[i]).name, axis,
             fmt::format("is whole, but {} adds it to a sum that is pending", def.name));
    }
    for (const ValueId result : node.results) of(result)[static_cast<size_t>(axis)] = partial();
  }

  ShardingRule rule_of(const Node& node, const OpDef& def) const {
    if (!def.sharding) return {};
    const std::vector<TensorType> operands = types_of(graph_, node.operands),
                                  results = types_of(graph_, node.results);
    return def.sharding({node.op, node.attributes, operands, results});
  }

  const Mesh& mesh_;
  const BlockClass& class_;
  const Graph& graph_;
  RingPieces pieces_;
  std::vector<Placement> placements_;
};

}  // namespace

void verify_placements(const Module& module) {
  if (module.mesh.num_ranks() == 1) return;
  for (const BlockClass& block_class : module.classes) ClassPlacements(module, block_class).run();
}

}  // namespace tessera
