// SPDX-License-Identifier: Apache-2.0
#include "ir/emit.h"

#include <algorithm>

namespace tessera {

std::vector<TensorType> types_of(const Graph& graph, std::span<const ValueId> values) {
  std::vector<TensorType> types;
  for (const ValueId id : values) types.push_back(graph.value(id).type);
  return types;
}

Attributes complete_attributes(OpKind op, const Attributes& given) {
  const OpDef& def = op_def(op);
  for (const auto& entry : given.entries())
    if (std::none_of(def.attributes.begin(), def.attributes.end(),
                     [&](const auto& spec) { return spec.name == entry.first; }))
      throw user_error("{}: no attribute {}", def.name, entry.first);
  Attributes complete;
  for (const AttributeSpec& spec : def.attributes) {
    const Attribute* value = given.find(spec.name);
    if (value && value->index() != spec.fallback.index())
      throw user_error("{}: attribute {} = {} has the wrong type (default {})", def.name, spec.name,
                       to_string(*value), to_string(spec.fallback));
    complete.set(std::string(spec.name), value ? *value : spec.fallback);
  }
  return complete;
}

std::vector<TensorType> infer_types(OpKind op, const Attributes& attributes,
                                    std::span<const TensorType> operands) {
  const OpDef& def = op_def(op);
  const auto required =
      static_cast<size_t>(std::count_if(def.operands.begin(), def.operands.end(),
                                        [](const OperandSpec& spec) { return !spec.optional; }));
  if (operands.size() < required || operands.size() > def.operands.size())
    throw user_error("{}: {} operands given, takes {}", def.name, operands.size(),
                     required == def.operands.size()
                         ? fmt::format("{}", required)
                         : fmt::format("{} to {}", required, def.operands.size()));
  return def.infer_types({.op = op, .attributes = attributes, .operands = operands, .results = {}});
}

std::vector<ValueId> emit(Graph& graph, OpKind op, std::vector<ValueId> operands,
                          EmitOptions options) {
  const OpDef& def = op_def(op);
  Node node{.op = op,
            .attributes = complete_attributes(op, options.attributes),
            .operands = std::move(operands),
            .results = {},
            .phase = options.phase,
            .workspace = {}};
  std::vector<TensorType> types = infer_types(op, node.attributes, types_of(graph, node.operands));
  TESSERA_CHECK(types.size() <= def.results.size(), "{} yields {} results", def.name, types.size());
  const std::string base = options.name.empty() ? std::string(def.name) : std::move(options.name);
  std::vector<std::string> names;
  for (size_t i = 0; i < types.size(); ++i)
    names.push_back(i == 0 ? base : fmt::format("{}_{}", base, def.results[i]));
  const NodeId id = graph.add_node(std::move(node), std::move(names), std::move(types));
  for (const ValueId result : graph.node(id).results)
    graph.value(result).origin.line = options.line;
  return graph.node(id).results;
}

}  // namespace tessera
