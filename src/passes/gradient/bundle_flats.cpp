// SPDX-License-Identifier: Apache-2.0
#include "passes/gradient/bundle_flats.h"

#include "ir/emit.h"

namespace tessera {
namespace {

std::string named(const Bundle& bundle, std::string_view what) {
  return fmt::format("{}.{}", bundle.name, what);
}

}  // namespace

ValueId add_flat(Graph& graph, const Bundle& bundle, FlatRole role, DType dtype) {
  const bool whole = role == FlatRole::Weights || role == FlatRole::Gradient;
  const int64_t elements = bundle.elements / (whole ? 1 : bundle.shards);
  return graph.add_input({.kind = InputKind::Flat,
                          .value = kNone,
                          .state = {},
                          .flat = FlatSpec{.bundle = bundle.name, .role = role}},
                         named(bundle, name(role)), {dtype, {{"flat", elements}}});
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
  return emit(graph, OpKind::wait, std::move(operands),
              {.attributes = {}, .phase = phase, .name = named(bundle, "there")})
      .front();
}

ValueId all_gathered(Graph& graph, const Bundle& bundle, const std::string& axes, ValueId shard,
                     Phase phase, bool async) {
  return emit(graph, OpKind::all_gather, {shard},
              {.attributes = {{"axes", axes},
                              {"ranks", int64_t{bundle.shards}},
                              {"async", int64_t{async}},
                              {"dim", "flat"}},
               .phase = phase,
               .name = named(bundle, "gathered")})
      .front();
}

void gather_bundle(Graph& graph, const Bundle& bundle, const std::string& axes, ValueId shard,
                   ValueId whole) {
  return_flat(graph, whole, all_gathered(graph, bundle, axes, shard, Phase::Gather, true));
  return_flat(graph, whole, await_flat(graph, bundle, whole, shard, Phase::GatherWait));
}

}  // namespace tessera
