// SPDX-License-Identifier: Apache-2.0
#include "compiler/stamp_origins.h"

namespace tessera {
namespace {

void give(Graph& graph, ValueId value, const SourceLine& line) {
  if (!graph.value(value).origin.line.known()) graph.value(value).origin.line = line;
}

SourceLine first_line(const Graph& graph, const std::vector<ValueId>& values) {
  for (const ValueId value : values)
    if (const SourceLine& line = graph.value(value).origin.line; line.known()) return line;
  return {};
}

// From the node's first result, or else from the first operand that has one.
bool pass_lines_on(Graph& graph) {
  bool complete = true;
  for (const Node& node : graph.nodes()) {
    SourceLine line = first_line(graph, node.results);
    if (!line.known()) line = first_line(graph, node.operands);
    for (const ValueId result : node.results) give(graph, result, line);
    complete = complete && line.known();
  }
  return complete;
}

SourceLine line_of_step(const Module& module, std::string_view step) {
  for (const BlockClass& block_class : module.classes)
    for (const GraphOutput& output : block_class.graph.outputs())
      if (const SourceLine& line = block_class.graph.value(output.value).origin.line;
          output.kind == OutputKind::Step && output.target == step && line.known())
        return line;
  return {};
}

void take_lines_of_steps(const Module& module, Graph& graph) {
  for (const GraphInput& input : graph.inputs())
    if (input.kind == InputKind::Step)
      give(graph, input.value, line_of_step(module, graph.value(input.value).name));
  for (const GraphOutput& output : graph.outputs())
    if (output.kind == OutputKind::Step)
      give(graph, output.value, line_of_step(module, output.target));
}

void stamp(Graph& graph, std::string_view pass) {
  for (ValueId id = 0; id < graph.num_values(); ++id) {
    Origin& origin = graph.value(id).origin;
    if (origin.made_by.empty())
      origin.made_by = pass;
    else if (origin.changed)
      origin.changed_by = pass;
    origin.changed = false;
  }
}

}  // namespace

void stamp_origins(Module& module, std::string_view pass) {
  for (BlockClass& block_class : module.classes) {
    stamp(block_class.graph, pass);
    if (pass_lines_on(block_class.graph)) continue;
    take_lines_of_steps(module, block_class.graph);
    pass_lines_on(block_class.graph);
  }
}

}  // namespace tessera
