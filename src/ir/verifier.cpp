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

// Sizes are multiplied freely elsewhere, so the bytes of every value must fit 63 bits.
void verify_size(const Value& value) {
  int64_t bytes = size_bytes(value.type.dtype);
  for (const Dim& dim : value.type.dims)
    if (__builtin_mul_overflow(bytes, dim.size, &bytes))
      throw user_error("%{}: {} has more bytes than can be counted", value.name,
                       to_string(value.type));
}

void verify_types(const BlockClass& block_class) {
  const Graph& graph = block_class.graph;
  for (ValueId id = 0; id < graph.num_values(); ++id) verify_size(graph.value(id));
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
        throw user_error("%{}: dim {} appears twice in {}", value.name, dim.name,
                         to_string(value.type));
      if (dim.size < 1) throw user_error("%{}: dim {} has size {}", value.name, dim.name, dim.size);
    }
  }
}

// A later phase may read what an earlier one wrote, never the other way round.
void verify_phases(const BlockClass& block_class) {
  const Graph& graph = block_class.graph;
  for (const Node& node : graph.nodes())
    for (const ValueId operand : node.operands) {
      const NodeId producer = graph.value(operand).producer;
      if (producer == kNone) continue;
      const Phase earlier = graph.node(producer).phase;
      const bool fits =
          earlier <= node.phase || (makes_gradients(earlier) && makes_gradients(node.phase));
      TESSERA_CHECK(fits, "class {}: {} ({}) reads %{} of {}", block_class.name, name(node.op),
                    name(node.phase), graph.value(operand).name, name(earlier));
      TESSERA_CHECK(earlier != Phase::Evaluate || node.phase == Phase::Evaluate,
                    "class {}: the step reads %{} of evaluate", block_class.name,
                    graph.value(operand).name);
    }
}

bool runs_per_microbatch(Phase phase) { return phase != Phase::Norm && phase != Phase::Update; }

bool can_add_into(const Graph& graph, ValueId value) {
  const Node& node = graph.node(graph.value(value).producer);
  const auto result = static_cast<size_t>(
      std::find(node.results.begin(), node.results.end(), value) - node.results.begin());
  const std::vector<size_t>& able = op_def(node.op).accumulates;
  return std::find(able.begin(), able.end(), result) != able.end();
}

// A returned value has one place, which is not an input's. One that adds up over microbatches is
// whole only after the last.
void verify_outputs(const BlockClass& block_class) {
  const Graph& graph = block_class.graph;
  std::set<ValueId> returned;
  for (const GraphOutput& output : graph.outputs()) {
    const Value& value = graph.value(output.value);
    if (value.producer == kNone)
      throw user_error("class {} returns its input %{}", block_class.name, value.name)
          .help("return a copy: accumulate(x)");
    if (!returned.insert(output.value).second)
      throw user_error("class {} returns %{} twice", block_class.name, value.name)
          .help("return a copy the second time: accumulate(x)");
    if (!output.accumulates) continue;
    const Node& producer = graph.node(value.producer);
    if (!can_add_into(graph, output.value))
      throw user_error("class {} returns %{}, which adds up over microbatches, but {} cannot add",
                       block_class.name, value.name, name(producer.op))
          .help("return a copy: accumulate(x)");
    for (const Node& node : graph.nodes())
      if (runs_per_microbatch(node.phase) && std::find(node.operands.begin(), node.operands.end(),
                                                       output.value) != node.operands.end())
        throw user_error("class {}: {} reads %{}, which is whole only after the last microbatch",
                         block_class.name, name(node.op), value.name)
            .help("return a copy: accumulate(x)");
  }
}

void verify_streams(const BlockClass& block_class) {
  const Graph& graph = block_class.graph;
  const auto taken =
      std::count_if(graph.inputs().begin(), graph.inputs().end(),
                    [](const GraphInput& input) { return input.kind == InputKind::Stream; });
  const auto given =
      std::count_if(graph.outputs().begin(), graph.outputs().end(),
                    [](const GraphOutput& output) { return output.kind == OutputKind::Stream; });
  if (taken > 1 || given > 1)
    throw user_error("class {} takes {} streams and returns {}: at most one each", block_class.name,
                     taken, given);
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
    for (const Node& node : block_class.graph.nodes()) {
      TESSERA_CHECK(node.workspace.offset + node.workspace.bytes <= module.scratch_bytes,
                    "class {}: the workspace of {} is outside the scratch arena", block_class.name,
                    name(node.op));
      for (const ValueId result : node.results) {
        const Value& value = block_class.graph.value(result);
        TESSERA_CHECK(value.location.lifetime != Lifetime::None, "class {}: %{} has no place",
                      block_class.name, value.name);
        const int64_t scratch_bytes =
            value.space == MemorySpace::Host ? module.host_scratch_bytes : module.scratch_bytes;
        TESSERA_CHECK(value.location.lifetime != Lifetime::Scratch ||
                          value.location.offset + value.type.bytes() <= scratch_bytes,
                      "class {}: %{} is outside the scratch arena", block_class.name, value.name);
        TESSERA_CHECK(value.location.lifetime != Lifetime::Slot ||
                          value.location.offset + value.type.bytes() <= block_class.slot_bytes,
                      "class {}: %{} is outside the slot", block_class.name, value.name);
        TESSERA_CHECK(value.location.lifetime != Lifetime::Away ||
                          value.location.offset + value.type.bytes() <= block_class.away_bytes,
                      "class {}: %{} is outside the bytes that are away", block_class.name,
                      value.name);
        TESSERA_CHECK(value.location.lifetime != Lifetime::Prepared ||
                          value.location.offset + value.type.bytes() <= block_class.prepared_bytes,
                      "class {}: %{} is outside the prepared bytes", block_class.name, value.name);
      }
    }
}

}  // namespace

void verify(const Module& module) {
  for (const BlockClass& block_class : module.classes) {
    verify_order(block_class);
    verify_types(block_class);
    verify_phases(block_class);
    verify_outputs(block_class);
    verify_streams(block_class);
  }
  verify_blocks(module);
  if (module.form == Form::Maths)
    verify_maths(module);
  else
    verify_step(module);
  if (module.form == Form::Planned) verify_planned(module);
}

}  // namespace tessera
