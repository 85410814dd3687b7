// SPDX-License-Identifier: Apache-2.0
#include "verify/route_watch.h"

#include <algorithm>
#include <utility>

#include "core/random.h"
#include "ir/op_list.h"
#include "ops/moe/routing.h"
#include "program/pieces.h"

namespace tessera {
namespace {

std::map<std::string, Placement> placements_of_choices(const Module& module) {
  std::map<std::string, Placement> placements;
  for (const BlockClass& block_class : module.classes)
    for (const Node& node : block_class.graph.nodes())
      if (node.op == OpKind::route)
        placements[block_class.name] = block_class.graph.value(node.results[1]).placement;
  return placements;
}

// Of ranks that hold copies of the same choices, the first.
bool speaks_for_copies(const Program& program, int rank, const Placement& placement) {
  for (int axis = 0; axis < static_cast<int>(placement.size()); ++axis)
    if (placement[static_cast<size_t>(axis)].kind != AxisPlacement::Kind::Shard &&
        axis != program.pipeline_axis && program.mesh.index(rank, {axis}) != 0)
      return false;
  return true;
}

const std::string& layer_of(const InstructionEvent& event) {
  return event.program.blocks[static_cast<size_t>(event.call.block)].name;
}

}  // namespace

struct RouteWatch::Tokens {
  Routing routing;
  std::vector<int64_t> whole;  // by local token: its number among those of the step
  bool counted;                // by this rank
};

RouteWatch::RouteWatch(const Module& module, BatchShape microbatch, bool forces)
    : placements_(placements_of_choices(module)), microbatch_(microbatch), forces_(forces) {}

void RouteWatch::see(int rank, const InstructionEvent& event) {
  const auto* kernel = event.instruction.as<KernelInstruction>();
  if (!event.finished || !kernel || kernel->op != OpKind::route) return;
  const Tokens tokens = tokens_of(rank, event);
  if (forces_) force(event, tokens);
  if (event.call.routine == RoutineKind::Forward && tokens.counted) count(event, tokens);
}

RouteCounts RouteWatch::take_counts() {
  const std::lock_guard lock(mutex_);
  return std::exchange(counts_, {});
}

RouteWatch::Tokens RouteWatch::tokens_of(int rank, const InstructionEvent& event) const {
  const TensorType& logits = *event.bound.operand(0).type;
  const Placement& placement = placements_.at(event.program_class.name);
  HostBuffer tokens{.name = {}, .type = {DType::Int32, logits.dims}, .placement = placement};
  tokens.type.dims.pop_back();
  tokens.whole = {DType::Int32, {{"batch", microbatch_.batch}, {"seq", microbatch_.seq}}};
  Tokens found{.routing = Routing(event.instruction.as<KernelInstruction>()->attributes,
                                  logits.dims.back().size),
               .whole = std::vector<int64_t>(static_cast<size_t>(tokens.type.num_elements())),
               .counted = speaks_for_copies(event.program, rank, placement)};
  const int64_t first = event.call.microbatch * tokens.whole.num_elements();
  for_each_piece(event.program, rank, tokens, [&](int64_t offset, int64_t element, int64_t count) {
    const int64_t local = offset / size_bytes(DType::Int32);
    for (int64_t i = 0; i < count; ++i)
      found.whole[static_cast<size_t>(local + i)] = first + element + i;
  });
  return found;
}

void RouteWatch::force(const InstructionEvent& event, const Tokens& tokens) const {
  const Routing& r = tokens.routing;
  auto* chosen = event.bound.result(1).as<int32_t>();
  dispatch_accumulator(event.bound.operand(0).type->dtype, [&]<typename S>() {
    const S* logits = event.bound.operand(0).as<S>();
    S* gates = event.bound.result(0).as<S>();
    std::vector<S> shares(static_cast<size_t>(r.experts));
    for (size_t t = 0; t < tokens.whole.size(); ++t) {
      const auto at = static_cast<int64_t>(t);
      const std::span own(chosen + at * r.top_k, static_cast<size_t>(r.top_k));
      forced_choice(layer_of(event), tokens.whole[t], r.experts, own);
      set_gates(r, logits + at * r.experts, own.data(), shares.data(), gates + at * r.top_k);
    }
  });
}

void RouteWatch::count(const InstructionEvent& event, const Tokens& tokens) {
  const std::span chosen(event.bound.result(1).as<int32_t>(),
                         tokens.whole.size() * static_cast<size_t>(tokens.routing.top_k));
  const std::lock_guard lock(mutex_);
  std::vector<int64_t>& counts = counts_[layer_of(event)];
  counts.resize(static_cast<size_t>(tokens.routing.experts));
  for (const int32_t expert : chosen) ++counts[static_cast<size_t>(expert)];
}

void forced_choice(const std::string& layer, int64_t token, int64_t experts,
                   std::span<int32_t> chosen) {
  const RandomStream random(0, "routes of " + layer);
  for (size_t k = 0; k < chosen.size(); ++k) {
    const auto taken = chosen.first(k);
    uint64_t left = random.below(static_cast<uint64_t>(token) * chosen.size() + k,
                                 static_cast<uint64_t>(experts) - k);
    int32_t expert = 0;
    while (std::find(taken.begin(), taken.end(), expert) != taken.end() || left-- > 0) ++expert;
    chosen[k] = expert;
  }
}

}  // namespace tessera
