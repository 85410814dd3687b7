// SPDX-License-Identifier: Apache-2.0
#include "passes/gradient/bundle_flats.h"

#include "ir/emit.h"
#include "ir/op_list.h"

namespace tessera {
namespace {

std::string named(const Bundle& bundle, std::string_view what) {
  return fmt::format("{}.{}", bundle.name, what);
}

}  // namespace

ValueId add_flat(Graph& graph, FlatSpec flat, const Bundle& bundle, DType dtype) {
  const bool whole = flat.role == FlatRole::Weights || flat.role == FlatRole::Gradient;
  const int64_t elements = bundle.elements / (whole ? 1 : bundle.shards);
  const std::string value_name = named(bundle, role_name(flat));
  const ValueId id = graph.add_input(
      {.kind = InputKind::Flat, .value = kNone, .state = {}, .flat = std::move(flat)}, value_name,
      {dtype, {{"flat", elements}}});
  // A bundle is written nowhere: its first parameter is.
  graph.value(id).origin.line =
      graph.value(graph.find_value(bundle.parameters.front())).origin.line;
  return id;
}

ValueId find_value(const BlockClass& block_class, const Bundle& bundle, FlatRole role) {
  const GraphInput* flat = find_flat(block_class, bundle.name, role);
  return flat ? flat->value : kNone;
}

ValueId gradient_at_rest(const BlockClass& block_class, const Bundle& bundle) {
  for (const FlatRole role : {FlatRole::GradientShard, FlatRole::Reduced})
    if (const ValueId shard = find_value(block_class, bundle, role); shard != kNone) return shard;
  return find_value(block_class, bundle, FlatRole::Gradient);
}

ValueId emit_for_bundle(Graph& graph, const Bundle& bundle, OpKind op,
                        std::vector<ValueId> operands, Attributes attributes, Phase phase,
                        std::string_view what) {
  return emit(graph, op, std::move(operands),
              {.attributes = std::move(attributes), .phase = phase, .name = named(bundle, what)})
      .front();
}

void return_flat(Graph& graph, ValueId buffer, ValueId next, bool accumulates) {
  graph.add_output({.kind = OutputKind::Flat,
                    .value = next,
                    .target = graph.value(buffer).name,
                    .accumulates = accumulates});
}

ValueId await_flat(Graph& graph, const Bundle& bundle, ValueId buffer, ValueId source,
                   Phase phase) {
  std::vector<ValueId> operands{buffer};
  if (source != kNone) operands.push_back(source);
  return emit_for_bundle(graph, bundle, OpKind::wait, std::move(operands), {}, phase, "there");
}

ValueId all_gathered(Graph& graph, const Bundle& bundle, const std::string& axes, ValueId shard,
                     Phase phase, bool async) {
  return emit_for_bundle(graph, bundle, OpKind::all_gather, {shard},
                         {{"axes", axes},
                          {"ranks", int64_t{bundle.shards}},
                          {"async", int64_t{async}},
                          {"dim", "flat"}},
                         phase, "gathered");
}

void gather_bundle(Graph& graph, const Bundle& bundle, const std::string& axes, ValueId shard,
                   ValueId whole) {
  return_flat(graph, whole,
              bundle.shards > 1
                  ? all_gathered(graph, bundle, axes, shard, Phase::Gather, true)
                  : emit_for_bundle(graph, bundle, OpKind::copy, {shard}, {{"async", int64_t{1}}},
                                    Phase::Gather, "gathered"));
  return_flat(graph, whole, await_flat(graph, bundle, whole, shard, Phase::GatherWait));
}

void gather_at_rest(BlockClass& block_class, const Bundle& bundle, DType dtype,
                    const std::string& axes) {
  Graph& graph = block_class.graph;
  block_class.bundles.push_back(bundle);
  const auto add = [&](FlatRole role) {
    return add_flat(graph, {.bundle = bundle.name, .role = role}, bundle, dtype);
  };
  const ValueId whole = add(FlatRole::Weights), shard = add(FlatRole::WeightsShard);
  gather_bundle(graph, bundle, axes, shard, whole);
}

}  // namespace tessera
