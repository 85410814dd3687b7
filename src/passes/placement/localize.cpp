// SPDX-License-Identifier: Apache-2.0
// One pass over each class. A value is resharded once per routine and then shared; the backward
// reshards again what it needs, so that gathered copies do not outlive the forward.
#include "passes/placement/localize.h"

#include <map>

#include "ir/emit.h"
#include "ir/op_list.h"
#include "ir/pool.h"
#include "ir/rank_index.h"
#include "ir/verifier.h"
#include "passes/placement/node_sharding.h"
#include "passes/placement/pool_exchange.h"
#include "passes/placement/reshard.h"

namespace tessera {
namespace {

class ClassLocalizer {
 public:
  ClassLocalizer(const Plan& plan, const Graph& graph) : plan_(plan), graph_(graph) {}

  Graph run() {
    for (const GraphInput& input : graph_.inputs()) add_input(input);
    for (const Node& node : graph_.nodes()) add_node(node);
    for (const GraphOutput& output : graph_.outputs()) add_output(output);
    return std::move(local_);
  }
  int64_t reshards() const { return reshards_; }

 private:
  TensorType local_type(ValueId id) const {
    const Value& value = graph_.value(id);
    return {value.type.dtype, local_dims(plan_.mesh, value.type.dims, value.placement)};
  }

  void bind(ValueId id, ValueId local) {
    if (locals_.size() <= static_cast<size_t>(id))
      locals_.resize(static_cast<size_t>(graph_.num_values()), kNone);
    locals_[static_cast<size_t>(id)] = local;
    local_.value(local).placement = graph_.value(id).placement;
    local_.value(local).origin = graph_.value(id).origin;
    TESSERA_CHECK(local_.value(local).type == local_type(id), "%{} is {} on a rank, not {}",
                  graph_.value(id).name, to_string(local_.value(local).type),
                  to_string(local_type(id)));
  }

  void add_input(const GraphInput& input) {
    GraphInput copy = input;
    if (input.kind == InputKind::State || input.kind == InputKind::Batch)
      copy.whole = graph_.value(input.value).type.dims;
    bind(input.value, local_.add_input(std::move(copy), graph_.value(input.value).name,
                                       local_type(input.value)));
  }

  void add_node(const Node& node) {
    const NodeSharding sharding(plan_, graph_, node);
    std::vector<ValueId> operands;
    for (size_t i = 0; i < node.operands.size(); ++i)
      operands.push_back(brought(node.operands[i], sharding.operand(i), node.phase));
    const std::vector<ValueId> results = sharding.expanded_dim().empty()
                                             ? emitted(node, std::move(operands))
                                             : expanded(node, sharding, std::move(operands));
    TESSERA_CHECK(results.size() == node.results.size(), "{}", name(node.op));
    for (size_t i = 0; i < results.size(); ++i) {
      bind(node.results[i], results[i]);
      local_.value(results[i]).name = local_.value(results[i]).name == name_of(node.results[i])
                                          ? name_of(node.results[i])
                                          : local_.unique_name(name_of(node.results[i]));
    }
  }

  const std::string& name_of(ValueId id) const { return graph_.value(id).name; }

  // Sizes that it holds are those of a rank.
  Attributes local_attributes(const Node& node) const {
    Attributes attributes = node.attributes;
    for (const AttributeSpec& spec : op_def(node.op).attributes)
      for (const ValueId result : node.results)
        if (const TensorType type = local_type(result); type.has(spec.size_of))
          attributes.set(std::string(spec.name), type.size_of(spec.size_of));
    return attributes;
  }

  std::vector<ValueId> emitted(const Node& node, std::vector<ValueId> operands) {
    return emit(local_, node.op, std::move(operands),
                {.attributes = local_attributes(node),
                 .phase = node.phase,
                 .name = name_of(node.results[0])});
  }

  std::vector<ValueId> expanded(const Node& node, const NodeSharding& sharding,
                                std::vector<ValueId> operands) {
    const AxisIds axes = sharding.expanded_axes();
    Node on_rank = node;
    on_rank.attributes = local_attributes(node);
    ExpansionBuilder builder(local_, on_rank, std::move(operands),
                             {sharding.expanded_dim(), sharding.size_of(sharding.expanded_dim())},
                             plan_.mesh.word(axes), plan_.mesh.size(axes), own_index(axes));
    const ValueId first = local_.num_values();
    std::vector<ValueId> results = op_def(node.op).expand(builder);
    for (ValueId id = first; id < local_.num_values(); ++id)
      local_.value(id).origin.line = graph_.value(node.results[0]).origin.line;
    return results;
  }

  ValueId own_index(const AxisIds& axes) {
    const ValueId id = rank_index(local_, plan_.mesh.word(axes));
    local_.value(id).placement.resize(static_cast<size_t>(plan_.mesh.num_axes()));
    return id;
  }

  // The value in the given placement, in this phase's routine.
  ValueId brought(ValueId id, const Placement& wanted, Phase phase) {
    const ValueId own = locals_[static_cast<size_t>(id)];
    if (same_place(graph_.value(id).placement, wanted)) return own;
    if (const auto exchange = pool_exchange(graph_, id, wanted)) {
      const ValueId value = exchanged(id, *exchange, phase);
      local_.value(value).placement = wanted;
      return value;
    }
    const auto key = std::make_tuple(id, routine_of(phase, false), to_string(plan_.mesh, wanted));
    if (const auto known = brought_.find(key); known != brought_.end()) return known->second;
    const auto steps = reshard_steps(graph_.value(id).placement, wanted);
    if (!steps)
      throw user_error(
          "%{} is placed on ({}), but ({}) is needed: there is no way without gathering it",
          name_of(id), to_string(plan_.mesh, graph_.value(id).placement),
          to_string(plan_.mesh, wanted))
          .help("change the lists of dims in the plan so that its readers agree");
    for (const ReshardStep& step : *steps) require_movable(id, step);
    ValueId value = own;
    for (const ReshardStep& step : *steps) value = take_in_plans_dtype(step, value, phase);
    local_.value(value).placement = wanted;
    return brought_[key] = value;
  }

  // Once for all routines: what came from other ranks is kept, as the experts' own results are.
  ValueId exchanged(ValueId id, const PoolExchange& exchange, Phase phase) {
    const std::string axes = plan_.mesh.word(exchange.axes);
    ValueId& known = exchanged_.try_emplace({id, axes}, kNone).first->second;
    if (known != kNone) return known;
    ++reshards_;
    const auto emit_move = [&](OpKind op, std::vector<ValueId> operands, Attributes attributes) {
      return emit(local_, op, std::move(operands),
                  {.attributes = std::move(attributes),
                   .phase = phase,
                   .name = fmt::format("{}.{}", name_of(id), name(op))})
          .front();
    };
    const int64_t ranks = plan_.mesh.size(exchange.axes);
    const ValueId own = locals_[static_cast<size_t>(id)],
                  all_ends = gathered_ends(id, exchange, phase);
    if (exchange.kind == PoolExchange::Kind::Ends)
      return known = emit_move(OpKind::pool_ends, {all_ends, own_index(exchange.axes)},
                               pool_attributes(id, ranks));
    return known = emit_move(
               exchange.kind == PoolExchange::Kind::Put ? OpKind::put_rows : OpKind::take_rows,
               {own, all_ends},
               {{"axes", axes}, {"ranks", ranks}, {"most", most_rows_between(id, ranks)}});
  }

  // No token chooses an expert twice.
  int64_t most_rows_between(ValueId pool, int64_t ranks) const {
    const ValueId ends = locals_[static_cast<size_t>(ends_of_pool(graph_, pool))];
    const Node& sort = local_.node(local_.value(ends).producer);
    const TensorType& chosen = local_.value(sort.operands[0]).type;
    const int64_t top_k = chosen.dims.back().size;
    return chosen.num_elements() / top_k *
           std::min(top_k, sort.attributes.integer("experts") / ranks);
  }

  // Of all ranks that sorted rows for the pool, once.
  ValueId gathered_ends(ValueId pool, const PoolExchange& exchange, Phase phase) {
    const ValueId ends = ends_of_pool(graph_, pool);
    const std::string axes = plan_.mesh.word(exchange.axes);
    ValueId& known = all_ends_.try_emplace({ends, axes}, kNone).first->second;
    if (known != kNone) return known;
    known =
        emit(local_, OpKind::gather_ends, {locals_[static_cast<size_t>(ends)]},
             {.attributes = {{"axes", axes}, {"ranks", int64_t{plan_.mesh.size(exchange.axes)}}},
              .phase = phase,
              .name = fmt::format("{}.all", name_of(ends))})
            .front();
    Placement placement = graph_.value(ends).placement;
    for (const int axis : exchange.axes) placement[static_cast<size_t>(axis)] = replicate();
    local_.value(known).placement = placement;
    return known;
  }

  // Of a pool that several ranks sort rows for: the room of each of them, and what one is asked.
  Attributes pool_attributes(ValueId ends, int64_t ranks) const {
    const Attributes sort = local_attributes(graph_.node(graph_.value(ends).producer));
    return {{"slots", sort.integer("slots") * ranks}, {"needed", sort.integer("needed")}};
  }

  void require_movable(ValueId id, const ReshardStep& step) const {
    const auto is_of_pool = [](const std::string& dim) {
      return dim == kExpertDim || dim == kSlotDim;
    };
    if (!is_pool(graph_.value(id).type) || !(is_of_pool(step.dim) || is_of_pool(step.from))) return;
    throw user_error(
        "%{} holds rows of experts, of which each rank knows its own alone: it cannot be split "
        "again over {}",
        name_of(id), plan_.mesh.word(step.axes))
        .help(
            "list slot after a dim of tokens that the axis splits, such as batch,slot, or not at "
            "all");
  }

  // Sums are sent in the dtype that the plan specifies.
  ValueId take_in_plans_dtype(const ReshardStep& step, ValueId value, Phase phase) {
    const DType own = local_.value(value).type.dtype;
    const bool sums =
        step.kind == ReshardStep::Kind::AllReduce || step.kind == ReshardStep::Kind::ReduceScatter;
    if (!sums || !is_float(own) || !plan_.reduce_dtype || *plan_.reduce_dtype == own)
      return take(step, value, phase);
    const auto cast = [&](ValueId from, DType to) {
      return emit(local_, OpKind::accumulate, {from},
                  {.attributes = {{"dtype", std::string(name(to))}},
                   .phase = phase,
                   .name = fmt::format("{}.{}", local_.value(from).name, name(to))})
          .front();
    };
    return cast(take(step, cast(value, *plan_.reduce_dtype), phase), own);
  }

  ValueId take(const ReshardStep& step, ValueId value, Phase phase) {
    ++reshards_;
    const auto ranks = int64_t{plan_.mesh.size(step.axes)};
    const std::string axes = plan_.mesh.word(step.axes);
    const auto emit_step = [&](OpKind op, std::vector<ValueId> operands, Attributes attributes) {
      return emit(local_, op, std::move(operands),
                  {.attributes = std::move(attributes),
                   .phase = phase,
                   .name = fmt::format("{}.{}", local_.value(value).name, name(op))})
          .front();
    };
    switch (step.kind) {
      case ReshardStep::Kind::Slice:
        return emit_step(OpKind::take_shard, {value, own_index(step.axes)},
                         {{"ranks", ranks}, {"dim", step.dim}});
      case ReshardStep::Kind::ReduceScatter:
        return emit_step(OpKind::reduce_scatter, {value},
                         {{"axes", axes}, {"ranks", ranks}, {"dim", step.dim}});
      case ReshardStep::Kind::AllToAll:
        return emit_step(
            OpKind::all_to_all, {value},
            {{"axes", axes}, {"ranks", ranks}, {"split", step.dim}, {"join", step.from}});
      case ReshardStep::Kind::AllReduce:
        return emit_step(OpKind::all_reduce, {value}, {{"axes", axes}, {"ranks", ranks}});
      case ReshardStep::Kind::AllGather:
        return emit_step(OpKind::all_gather, {value},
                         {{"axes", axes}, {"ranks", ranks}, {"dim", step.dim}});
    }
    check_failed("reshard step", __FILE__, __LINE__, "");
  }

  // Streams have the placement that their readers need; gradients have that of their parameter,
  // with sums over the batch still pending: shard_states adds them once per step.
  Placement wanted_of(const GraphOutput& output) const {
    const Value& value = graph_.value(output.value);
    switch (output.kind) {
      case OutputKind::Stream:
      case OutputKind::InputGradient:
        return free_placement(plan_, value.type);
      case OutputKind::Gradient: {
        Placement wanted =
            graph_.value(graph_.find_input(InputKind::State, output.target)->value).placement;
        for (size_t axis = 0; axis < wanted.size(); ++axis)
          if (value.placement[axis].kind == AxisPlacement::Kind::Partial &&
              wanted[axis].kind == AxisPlacement::Kind::Replicate)
            wanted[axis] = partial();
        return wanted;
      }
      case OutputKind::Step:
      case OutputKind::State:
      case OutputKind::Flat:
        return value.placement;
    }
    check_failed("output kind", __FILE__, __LINE__, "");
  }

  void add_output(const GraphOutput& output) {
    const Value& value = graph_.value(output.value);
    GraphOutput copy = output;
    copy.value = brought(output.value, wanted_of(output), graph_.node(value.producer).phase);
    const bool moved = copy.value != locals_[static_cast<size_t>(output.value)];
    // A collective cannot accumulate into its result.
    if (moved && output.accumulates)
      copy.value = emit(local_, OpKind::accumulate, {copy.value},
                        {.attributes = {},
                         .phase = graph_.node(value.producer).phase,
                         .name = value.name + ".sum"})
                       .front();
    if (moved) local_.value(copy.value).placement = wanted_of(output);
    local_.add_output(std::move(copy));
  }

  const Plan& plan_;
  const Graph& graph_;
  Graph local_;
  std::vector<ValueId> locals_;  // by value: its own placement, on a rank
  std::map<std::tuple<ValueId, RoutineKind, std::string>, ValueId> brought_;
  // By value and axes: pools that were exchanged, and the ends that all ranks know of.
  std::map<std::pair<ValueId, std::string>, ValueId> exchanged_, all_ends_;
  int64_t reshards_ = 0;
};

}  // namespace

Pass localize(Plan plan) {
  return {.name = "localize",
          .summary =
              "gives each rank its local sizes, collectives where placements change, and the "
              "hops of ops that split a dim by talking",
          .requires_form = Form::Maths,
          .ensures_form = Form::Local,
          .run = [plan = std::move(plan)](Module& module) {
            int64_t reshards = 0;
            if (!plan.single())
              for (BlockClass& block_class : module.classes) {
                ClassLocalizer localizer(plan, block_class.graph);
                block_class.graph = localizer.run();
                reshards += localizer.reshards();
              }
            module.form = Form::Local;
            verify_placements(module);
            return PassCounts{{"reshards", reshards}};
          }};
}

}  // namespace tessera
