// SPDX-License-Identifier: Apache-2.0
// A static-shape SSA graph: the maths of one block class. Values have dtype and named dims; nodes
// stand in an order in which every operand is defined before its use. Edges are ids, valid for the
// life of the graph.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/tensor_type.h"
#include "ir/attributes.h"
#include "ir/memory.h"
#include "ir/op_kind.h"
#include "ir/origin.h"
#include "ir/phase.h"
#include "ir/state.h"
#include "mesh/placement.h"

namespace tessera {

using ValueId = int32_t;
using NodeId = int32_t;
inline constexpr int32_t kNone = -1;

struct Value {
  std::string name;
  TensorType type;
  NodeId producer = kNone;   // kNone: an input of the graph
  Placement placement = {};  // set by propagate_placements; over the module's mesh
  MemorySpace space = MemorySpace::Device;
  Location location = {};  // set by plan_memory
  Origin origin = {};
};

struct Node {
  OpKind op;
  Attributes attributes;
  std::vector<ValueId> operands;
  std::vector<ValueId> results;
  Phase phase = Phase::Forward;
  Location workspace;  // set by plan_memory
};

// Stream: from the previous block. Batch: one per microbatch. Step: one per step, by name, shared
// by all blocks. State: outlives the step. OutputGradient: the gradient of the returned stream,
// from the next block. Flat: a buffer of one of the class's bundles. Rank: the rank's index among
// those along some axes, int32[].
enum class InputKind : uint8_t { Stream, Batch, Step, State, OutputGradient, Flat, Rank };
std::string_view name(InputKind kind);
std::optional<InputKind> input_kind_from_name(std::string_view text);

struct GraphInput {
  InputKind kind;
  ValueId value;
  std::optional<StateSpec> state;     // for InputKind::State
  std::optional<FlatSpec> flat = {};  // for InputKind::Flat
  Dims whole = {};  // of the tensor over all ranks, set by localize for states and batch inputs
};

// Stream: to the next block. InputGradient: of the stream input, to the previous block. Gradient:
// of the parameter `target`. State: the new value of the state `target`, in its own buffer. Step:
// the step value `target`. Flat: the new content of the flat buffer `target`.
enum class OutputKind : uint8_t { Stream, InputGradient, Gradient, State, Step, Flat };
std::string_view name(OutputKind kind);
std::optional<OutputKind> output_kind_from_name(std::string_view text);

struct GraphOutput {
  OutputKind kind;
  ValueId value;
  std::string target;
  bool accumulates = false;  // the first writer of a step writes, later ones add
};

class Graph {
 public:
  ValueId add_input(GraphInput input, std::string name, TensorType type);
  // Result types are given: GraphBuilder infers them. Names are made unique.
  NodeId add_node(Node node, std::vector<std::string> result_names,
                  std::vector<TensorType> result_types);
  void add_output(GraphOutput output);

  const Value& value(ValueId id) const { return values_[static_cast<size_t>(id)]; }
  Value& value(ValueId id) { return values_[static_cast<size_t>(id)]; }
  const Node& node(NodeId id) const { return nodes_[static_cast<size_t>(id)]; }
  Node& node(NodeId id) { return nodes_[static_cast<size_t>(id)]; }
  int num_values() const { return static_cast<int>(values_.size()); }
  int num_nodes() const { return static_cast<int>(nodes_.size()); }
  const std::vector<Node>& nodes() const { return nodes_; }
  const std::vector<GraphInput>& inputs() const { return inputs_; }
  std::vector<GraphInput>& inputs() { return inputs_; }
  const std::vector<GraphOutput>& outputs() const { return outputs_; }
  std::vector<GraphOutput>& outputs() { return outputs_; }

  const GraphInput* find_input(InputKind kind, std::string_view name) const;
  const GraphInput* input_of(ValueId id) const;           // null when a node produces it
  const GraphOutput* find_output(OutputKind kind) const;  // the first of that kind
  ValueId find_value(std::string_view name) const;        // kNone when absent
  std::vector<std::vector<NodeId>> readers() const;       // by value, in node order

  std::string unique_name(std::string_view wish) const;

  // Replaces the nodes by `kept`, in that order, and drops values that no longer have a producer or
  // a reader.
  void rebuild(std::vector<Node> kept);

 private:
  std::vector<Value> values_;
  std::vector<Node> nodes_;
  std::vector<GraphInput> inputs_;
  std::vector<GraphOutput> outputs_;
};

}  // namespace tessera
