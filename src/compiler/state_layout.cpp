// SPDX-License-Identifier: Apache-2.0
#include "compiler/state_layout.h"

#include <algorithm>

#include "ir/optimizer.h"

namespace tessera {
namespace {

BufferKind kind_of(FlatRole role) {
  switch (role) {
    case FlatRole::Weights:
    case FlatRole::WeightsShard:
      return BufferKind::Parameter;
    case FlatRole::Gradient:
    case FlatRole::Reduced:
    case FlatRole::GradientShard:
    case FlatRole::Load:
    case FlatRole::GradientAtRest:
      return BufferKind::Gradient;
    default:
      return BufferKind::Optimizer;
  }
}

const CompanionState& rule_of(StateRole role, std::string_view slot) {
  if (role == StateRole::Master) return kMaster;
  return role == StateRole::Average ? kAverage : *find_slot(slot);
}

// The state of that role beside the parameter.
StateBuffer companion_of(const StateBuffer& parameter, StateRole role, const std::string& slot,
                         const FlatPlace& place) {
  const CompanionState& rule = rule_of(role, slot);
  StateBuffer state{.name = fmt::format("{}.{}", parameter.name, rule.name),
                    .type = with_dtype(parameter.type, rule.dtype(parameter.gradient_type.dtype)),
                    .spec = {.role = role,
                             .slot = slot,
                             .init = {.kind = rule.init},
                             .replica = parameter.spec.replica,
                             .parameter = parameter.name}};
  state.placement = parameter.placement;
  state.place = place;
  return state;
}

}  // namespace

void StateLayout::lay_out() {
  lay_out_windows_of_script();
  for (size_t block = 0; block < module_.blocks.size(); ++block)
    lay_out_block(static_cast<int>(block));
}

void StateLayout::lay_out_windows_of_script() {
  windows_ = lay_out_windows(module_, program_);
  windows_begin_ = take(program_.window_bytes, windows_.bytes);
  count(program_, BufferKind::Parameter, windows_.weights_bytes);
  count(program_, BufferKind::Gradient, windows_.gradient_bytes);
  count(program_, BufferKind::Optimizer, windows_.staged_bytes);
}

void StateLayout::lay_out_block(int block) {
  const BlockClass& block_class = class_of(block);
  for (const Bundle& bundle : block_class.bundles) lay_out_bundle(block, bundle);
  for (const GraphInput& input : block_class.graph.inputs()) {
    if (!input.state || input.state->tied) continue;
    const Value& value = block_class.graph.value(input.value);
    if (find_bundle(block_class, value.name)) continue;
    StateBuffer state{
        .name = full_name(block, value.name), .type = value.type, .spec = *input.state};
    if (!input.whole.empty()) state.type.dims = input.whole;
    state.placement = value.placement;
    state.place = {.lifetime = Lifetime::Persistent,
                   .offset = take(program_.persistent_bytes, value.type.bytes())};
    count(program_, BufferKind::Parameter, align_up(value.type.bytes()));
    program_.states.push_back(std::move(state));
  }
}

void StateLayout::lay_out_bundle(int block, const Bundle& bundle) {
  for (const GraphInput& input : class_of(block).graph.inputs())
    if (input.flat && input.flat->bundle == bundle.name)
      flats_[{block, class_of(block).graph.value(input.value).name}] = lay_out_flat(block, input);
  for (size_t i = 0; i < bundle.parameters.size(); ++i) add_states(block, bundle, i);
}

StateLayout::Place StateLayout::lay_out_flat(int block, const GraphInput& input) {
  const BlockClass& block_class = class_of(block);
  const Value& value = block_class.graph.value(input.value);
  if (input.flat->role == FlatRole::Reduced) {  // inside the whole gradient
    const GraphInput* whole = find_flat(block_class, input.flat->bundle, FlatRole::Gradient);
    return flats_.at({block, block_class.graph.value(whole->value).name});
  }
  if (value.space == MemorySpace::Host)
    return {Lifetime::Persistent, take(program_.host_persistent_bytes, value.type.bytes()),
            MemorySpace::Host};
  if (const int64_t window = windows_.offset(block, value.name); window != kNone)
    return {Lifetime::Window, windows_begin_ + window};
  const BufferKind kind = kind_of(input.flat->role);
  const bool in_window = kind == BufferKind::Gradient;
  const Place place = {
      in_window ? Lifetime::Window : Lifetime::Persistent,
      take(in_window ? program_.window_bytes : program_.persistent_bytes, value.type.bytes())};
  count(program_, kind, align_up(value.type.bytes()));
  if (input.flat->role == FlatRole::Load)
    program_.loads.push_back({.name = module_.blocks[static_cast<size_t>(block)].name,
                              .type = value.type,
                              .offset = place.offset});
  return place;
}

FlatPlace StateLayout::place_of(int block, const Bundle& bundle, size_t i, FlatRole role,
                                std::string_view slot) const {
  const GraphInput* flat = find_flat(class_of(block), bundle.name, role, slot);
  if (!flat) return {};
  const Value& value = class_of(block).graph.value(flat->value);
  const Place& place = flats_.at({block, value.name});
  const int64_t elements = value.type.num_elements();
  const bool whole = elements == bundle.elements;
  return {.lifetime = place.lifetime,
          .space = place.space,
          .offset = place.offset,
          .begin = bundle.begins[i],
          .shard_axes = whole ? AxisIds{} : bundle.rest,
          .shard_elements = whole ? 0 : elements,
          .in_whole = role == FlatRole::Reduced};
}

FlatPlace StateLayout::first_of(int block, const Bundle& bundle, size_t i, FlatRole first,
                                FlatRole second) const {
  const FlatPlace place = place_of(block, bundle, i, first);
  return place.lifetime != Lifetime::None ? place : place_of(block, bundle, i, second);
}

void StateLayout::add_states(int block, const Bundle& bundle, size_t i) {
  const BlockClass& block_class = class_of(block);
  const GraphInput& input = *block_class.graph.find_input(InputKind::State, bundle.parameters[i]);
  const Value& value = block_class.graph.value(input.value);
  StateBuffer parameter{
      .name = full_name(block, value.name), .type = value.type, .spec = *input.state};
  if (!input.whole.empty()) parameter.type.dims = input.whole;
  parameter.placement = value.placement;
  parameter.place = first_of(block, bundle, i, FlatRole::WeightsShard, FlatRole::Weights);
  parameter.gradient_type = with_dtype(parameter.type, kept_dtype(*input.state, value.type.dtype));
  parameter.gradient = first_of(block, bundle, i, FlatRole::GradientShard, FlatRole::Reduced);
  if (!parameter.has_gradient())
    parameter.gradient = place_of(block, bundle, i, FlatRole::Gradient);
  if (const FlatPlace at_rest = place_of(block, bundle, i, FlatRole::GradientAtRest);
      at_rest.lifetime != Lifetime::None) {
    parameter.gradient.lifetime = at_rest.lifetime;
    parameter.gradient.space = at_rest.space;
    parameter.gradient.offset = at_rest.offset;
  }
  program_.states.push_back(parameter);
  // Master weights, then slots, then averages: the order in which checkpoints list them.
  for (const auto& [flat, role] :
       {std::pair{FlatRole::Master, StateRole::Master}, std::pair{FlatRole::Slot, StateRole::Slot},
        std::pair{FlatRole::Average, StateRole::Average}})
    for (const GraphInput& companion : block_class.graph.inputs())
      if (companion.flat && !companion.flat->staged && companion.flat->bundle == bundle.name &&
          companion.flat->role == flat)
        program_.states.push_back(
            companion_of(parameter, role, companion.flat->slot,
                         place_of(block, bundle, i, flat, companion.flat->slot)));
}

int64_t StateLayout::offset_of(int block, const std::string& parameter, FlatRole role) const {
  const Owner owner = owner_of(module_, block, parameter);
  const BlockClass& owner_class = class_of(owner.block);
  const Bundle* bundle = find_bundle(owner_class, owner.parameter);
  if (!bundle) return program_.find_state(full_name(owner.block, owner.parameter))->place.offset;
  const auto i = static_cast<size_t>(
      std::find(bundle->parameters.begin(), bundle->parameters.end(), owner.parameter) -
      bundle->parameters.begin());
  const Value& flat = owner_class.graph.value(find_flat(owner_class, bundle->name, role)->value);
  return flats_.at({owner.block, flat.name}).offset +
         bundle->begins[i] * size_bytes(flat.type.dtype);
}

}  // namespace tessera
