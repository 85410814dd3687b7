// SPDX-License-Identifier: Apache-2.0
#include "ir/graph.h"

#include <algorithm>

namespace tessera {

ValueId Graph::add_input(GraphInput input, std::string name, TensorType type) {
  const auto id = static_cast<ValueId>(values_.size());
  values_.push_back({.name = unique_name(name), .type = std::move(type), .producer = kNone});
  input.value = id;
  inputs_.push_back(std::move(input));
  return id;
}

NodeId Graph::add_node(Node node, std::vector<std::string> result_names,
                       std::vector<TensorType> result_types) {
  const auto id = static_cast<NodeId>(nodes_.size());
  node.results.clear();
  for (size_t i = 0; i < result_types.size(); ++i) {
    node.results.push_back(static_cast<ValueId>(values_.size()));
    values_.push_back(
        {.name = unique_name(result_names[i]), .type = std::move(result_types[i]), .producer = id});
  }
  nodes_.push_back(std::move(node));
  return id;
}

void Graph::add_output(GraphOutput output) { outputs_.push_back(std::move(output)); }

const GraphInput* Graph::find_input(InputKind kind, std::string_view name) const {
  for (const GraphInput& input : inputs_)
    if (input.kind == kind && value(input.value).name == name) return &input;
  return nullptr;
}

const GraphInput* Graph::input_of(ValueId id) const {
  for (const GraphInput& input : inputs_)
    if (input.value == id) return &input;
  return nullptr;
}

const GraphOutput* Graph::find_output(OutputKind kind) const {
  for (const GraphOutput& output : outputs_)
    if (output.kind == kind) return &output;
  return nullptr;
}

ValueId Graph::find_value(std::string_view name) const {
  for (size_t i = 0; i < values_.size(); ++i)
    if (values_[i].name == name) return static_cast<ValueId>(i);
  return kNone;
}

std::vector<std::vector<NodeId>> Graph::readers() const {
  std::vector<std::vector<NodeId>> readers(values_.size());
  for (size_t n = 0; n < nodes_.size(); ++n)
    for (const ValueId operand : nodes_[n].operands)
      readers[static_cast<size_t>(operand)].push_back(static_cast<NodeId>(n));
  return readers;
}

std::string Graph::unique_name(std::string_view wish) const {
  if (find_value(wish) == kNone) return std::string(wish);
  for (int i = 1;; ++i) {
    std::string candidate = fmt::format("{}_{}", wish, i);
    if (find_value(candidate) == kNone) return candidate;
  }
}

void Graph::rebuild(std::vector<Node> kept) {
  std::vector<bool> used(values_.size(), false);
  for (const GraphInput& input : inputs_) used[static_cast<size_t>(input.value)] = true;
  for (const Node& node : kept)
    for (const ValueId result : node.results) used[static_cast<size_t>(result)] = true;

  std::vector<ValueId> renumbered(values_.size(), kNone);
  std::vector<Value> values;
  for (size_t i = 0; i < values_.size(); ++i) {
    if (!used[i]) continue;
    renumbered[i] = static_cast<ValueId>(values.size());
    values.push_back(std::move(values_[i]));
  }
  const auto renumber = [&](ValueId& id) {
    TESSERA_CHECK(renumbered[static_cast<size_t>(id)] != kNone,
                  "a kept node reads a dropped value");
    id = renumbered[static_cast<size_t>(id)];
  };
  for (size_t n = 0; n < kept.size(); ++n) {
    for (ValueId& operand : kept[n].operands) renumber(operand);
    for (ValueId& result : kept[n].results) {
      renumber(result);
      values[static_cast<size_t>(result)].producer = static_cast<NodeId>(n);
    }
  }
  for (GraphInput& input : inputs_) renumber(input.value);
  for (GraphOutput& output : outputs_) renumber(output.value);
  values_ = std::move(values);
  nodes_ = std::move(kept);
}

}  // namespace tessera
