// SPDX-License-Identifier: Apache-2.0
#include "ir/verifier.h"

#include <algorithm>
#include <set>

#include "ir/emit.h"

namespace tessera {
namespace {

void verify_order(const BlockClass& block_class) {
  const Graph& graph = block_class.graph;
  std::vector<bool> defined(static_cast<size_t>(graph.num_values()), false);
  for (const GraphInput& input : graph.inputs()) defined[static_cast<size_t>(input.value)] = true;
  for (const Node& node : graph.nodes()) {
    for (const ValueId operand : node.operands)
      TESSERA_CHECK(defined[static_cast<size_t>(operand)],
                    "class {}: {} reads %{} before it is defined", block_class.name, name(node.op),
                    graph.value(operand).name);
    for (const ValueId result : node.results) {
      TESSERA_CHECK(!defined[static_cast<size_t>(result)], "class {}: %{} is defined twice",
                    block_class.name, graph.value(result).name);
      defined[static_cast<size_t>(result)] = true;
    }
  }
  for (const GraphOutput& output : graph.outputs())
    TESSERA_CHECK(defined[static_cast<size_t>(output.value)], "class {}: an output is not defined",
                  block_class.name);
}

void verify_types(const BlockClass& block_class) {
  const Graph& graph = block_class.graph;
  for (const Node& node : graph.nodes()) {
    const std::vector<TensorType> inferred =
        infer_types(node.op, node.attributes, types_of(graph, node.operands));
    TESSERA_CHECK(inferred == types_of(graph, node.results), "class {}: types of {} are stale",
                  block_class.name, name(node.op));
  }
  for (const GraphInput& input : graph.inputs()) {
    const Value& value = graph.value(input.value);
    TESSERA_CHECK((input.kind == InputKind::State) == input.state.has_value(), "%{}", value.name);
    std::set<std::string> names;
    for (const Dim& dim : value.type.dims) {
      if (!names.insert(dim.name).second)
        throw user_error("%{}: dim {} stands twice in {}", value.name, dim.name,
                         to_string(value.type));
      if (dim.size < 1) throw user_error("%{}: dim {} has size {}", value.name, dim.name, dim.size);
    }
  }
}

// A later phase may read what an earlier one wrote, never the other way round.
void verify_phases(const BlockClass& block_class) {
  const Graph& graph = block_class.graph;
  const auto backward = [](Phase phase) {
    return phase == Phase::InputGrad || phase == Phase::WeightGrad;
  };
  for (const Node& node : graph.nodes())
    for (const ValueId operand : node.operands) {
      const NodeId producer = graph.value(operand).producer;
      if (producer == kNone) continue;
      const Phase earlier = graph.node(producer).phase;
      const bool fits = earlier <= node.phase || (backward(earlier) && backward(node.phase));
      TESSERA_CHECK(fits, "class {}: {} ({}) reads %{} of {}", block_class.name, name(node.op),
                    name(node.phase), graph.value(operand).name, name(earlier));
      TESSERA_CHECK(earlier != Phase::Evaluate || node.phase == Phase::Evaluate,
                    "class {}: the step reads %{} of evaluate", block_class.name,
                    graph.value(operand).name);
    }
}

void verify_maths(const Module& module) {
  for (const BlockClass& block_class : module.classes)
    for (const Node& node : block_class.graph.nodes())
      TESSERA_CHECK(node.phase == Phase::Begin || node.phase == Phase::Forward,
                    "class {}: {} in form maths", block_class.name, name(node.phase));
}

// Every parameter that is not tied has exactly one new value per step, written from its gradient.
void verify_step(const Module& module) {
  for (const BlockClass& block_class : module.classes) {
    const Graph& graph = block_class.graph;
    for (const GraphInput& input : graph.inputs()) {
      if (!input.state || input.state->tied || input.state->role != StateRole::Parameter) continue;
      const std::string& parameter = graph.value(input.value).name;
      const auto written = std::count_if(
          graph.outputs().begin(), graph.outputs().end(), [&](const GraphOutput& output) {
            return output.kind == OutputKind::State && output.target == parameter;
          });
      TESSERA_CHECK(written <= 1, "class {}: {} is updated {} times", block_class.name, parameter,
                    written);
    }
  }
}

void verify_planned(const Module& module) {
  for (const BlockClass& block_class : module.classes)
    for (const Node& node : block_class.graph.nodes())
      for (const ValueId result : node.results) {
        const Value& value = block_class.graph.value(result);
        TESSERA_CHECK(value.location.lifetime != Lifetime::None, "class {}: %{} has no place",
                      block_class.name, value.name);
        TESSERA_CHECK(value.location.lifetime != Lifetime::Scratch ||
                          value.location.offset + value.type.bytes() <= module.scratch_bytes,
                      "class {}: %{} lies outside the scratch arena", block_class.name, value.name);
        TESSERA_CHECK(value.location.lifetime != Lifetime::Slot ||
                          value.location.offset + value.type.bytes() <= block_class.slot_bytes,
                      "class {}: %{} lies outside the slot", block_class.name, value.name);
      }
}

const Value* stream_in(const Graph& graph) {
  for (const GraphInput& input : graph.inputs())
    if (input.kind == InputKind::Stream) return &graph.value(input.value);
  return nullptr;
}

const Value* stream_out(const Graph& graph) {
  const GraphOutput* output = graph.find_output(OutputKind::Stream);
  return output ? &graph.value(output->value) : nullptr;
}

// What one block returns, the next one takes.
void verify_chain(const Module& module) {
  std::set<std::string> names;
  for (size_t i = 0; i < module.blocks.size(); ++i) {
    const Block& block = module.blocks[i];
    if (!names.insert(block.name).second) throw user_error("two blocks are called {}", block.name);
    const Value* given = i == 0 ? nullptr : stream_out(module.class_of(module.blocks[i - 1]).graph);
    const Value* taken = stream_in(module.class_of(block).graph);
    if (taken && !given)
      throw user_error("block {} takes the stream %{}, but no block before it returns one",
                       block.name, taken->name);
    if (taken && taken->type != given->type)
      throw user_error("block {} takes {}, but block {} returns {}", block.name,
                       to_string(taken->type), module.blocks[i - 1].name, to_string(given->type));
  }
}

void verify_ties(const Module& module) {
  for (const Block& block : module.blocks)
    for (const auto& [parameter, state] : block.ties) {
      const size_t dot = state.rfind('.');
      const int owner = dot == std::string::npos ? kNone : module.find_block(state.substr(0, dot));
      const Graph& graph = module.class_of(block).graph;
      const GraphInput* here = graph.find_input(InputKind::State, parameter);
      if (!here)
        throw user_error("block {} ties {}, which its class does not have", block.name, parameter);
      if (owner == kNone)
        throw user_error("block {} ties {} to {}: there is no such block", block.name, parameter,
                         state);
      const Graph& other = module.class_of(module.blocks[static_cast<size_t>(owner)]).graph;
      const GraphInput* there = other.find_input(InputKind::State, state.substr(dot + 1));
      if (!there)
        throw user_error("block {} ties {} to {}: there is no such parameter", block.name,
                         parameter, state);
      if (graph.value(here->value).type != other.value(there->value).type)
        throw user_error("block {} ties {} ({}) to {} ({}): the types differ", block.name,
                         parameter, to_string(graph.value(here->value).type), state,
                         to_string(other.value(there->value).type));
    }
}

}  // namespace

void verify(const Module& module) {
  for (const BlockClass& block_class : module.classes) {
    verify_order(block_class);
    verify_types(block_class);
    verify_phases(block_class);
  }
  verify_chain(module);
  verify_ties(module);
  if (module.form == Form::Maths)
    verify_maths(module);
  else
    verify_step(module);
  if (module.form == Form::Planned) verify_planned(module);
}

}  // namespace tessera
