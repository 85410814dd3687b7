// SPDX-License-Identifier: Apache-2.0
#include "ir/printer.h"

#include <array>

#include "ir/op_def.h"

namespace tessera {
namespace {

std::string print(const Location& location) {
  if (location.lifetime == Lifetime::None) return "";
  const bool bound_by_name =
      location.lifetime == Lifetime::Persistent || location.lifetime == Lifetime::Window;
  if (bound_by_name) return fmt::format(" at {}", name(location.lifetime));
  return fmt::format(" at {}+{}:{}", name(location.lifetime), location.offset, location.bytes);
}

std::string print_placement(const Mesh& mesh, const Placement& placement) {
  const std::string text = to_string(mesh, placement);
  return text.empty() ? "" : fmt::format(" on({})", text);
}

std::string print_typed(const Graph& graph, ValueId id, const Mesh& mesh) {
  const Value& value = graph.value(id);
  return fmt::format("%{}: {}{}{}{}", value.name, to_string(value.type),
                     print_placement(mesh, value.placement),
                     value.space == MemorySpace::Host ? " in host" : "", print(value.location));
}

std::string print(const StateSpec& state) {
  std::string text = fmt::format(" {}", role_name(state));
  if (!state.parameter.empty()) text += fmt::format(" of {}", state.parameter);
  switch (state.init.kind) {
    case Init::Kind::Zeros:
      text += " zeros";
      break;
    case Init::Kind::Ones:
      text += " ones";
      break;
    case Init::Kind::Normal:
      text += fmt::format(" normal({})", state.init.deviation);
      break;
    case Init::Kind::OfParameter:
      text += " of_parameter";
      break;
  }
  if (state.decay) text += " decay";
  if (state.tied) text += " tied";
  if (!state.joined.empty()) text += fmt::format(" joined {}", state.joined);
  if (state.replica) text += " replica";
  if (state.pure) text += " pure";
  if (state.frozen) text += " frozen";
  if (state.in_base) text += " in_base";
  if (!state.matrix.empty()) text += fmt::format(" matrix {}", state.matrix);
  if (!state.optimizer.empty()) text += fmt::format(" optimizer {}", state.optimizer);
  if (state.group > 0) text += fmt::format(" group {}", state.group);
  if (state.balance_rate > 0) text += fmt::format(" balanced {}", state.balance_rate);
  return text;
}

// Attributes that differ from the op's defaults.
std::string print_attributes(const Node& node) {
  std::string text;
  for (const AttributeSpec& spec : op_def(node.op).attributes) {
    const Attribute* value = node.attributes.find(spec.name);
    if (!value || *value == spec.fallback) continue;
    text += fmt::format("{}{}={}", text.empty() ? "" : ", ", spec.name, to_string(*value));
  }
  return text.empty() ? "" : fmt::format(" {{{}}}", text);
}

std::string print_node(const Graph& graph, const Node& node, const Mesh& mesh) {
  std::string text = "  ";
  for (size_t i = 0; i < node.results.size(); ++i)
    text += fmt::format("{}{}", i ? ", " : "", print_typed(graph, node.results[i], mesh));
  text += fmt::format(" = {}(", name(node.op));
  for (size_t i = 0; i < node.operands.size(); ++i)
    text += fmt::format("{}%{}", i ? ", " : "", graph.value(node.operands[i]).name);
  text += fmt::format("){}", print_attributes(node));
  if (node.phase != Phase::Forward) text += fmt::format(" @{}", name(node.phase));
  if (node.workspace.lifetime != Lifetime::None)
    text += fmt::format(" workspace{}", print(node.workspace));
  return text;
}

std::string print_output(const Graph& graph, const GraphOutput& output) {
  return fmt::format("  return {}{}{} %{}{}", name(output.kind), output.target.empty() ? "" : " ",
                     output.target, graph.value(output.value).name,
                     output.accumulates ? " accumulate" : "");
}

std::string print_input(const Graph& graph, const GraphInput& input, const Mesh& mesh) {
  std::string text =
      fmt::format("  {} {}", name(input.kind), print_typed(graph, input.value, mesh));
  if (!input.whole.empty() && input.whole != graph.value(input.value).type.dims)
    text += " whole " + to_string(input.whole);
  if (input.state) text += print(*input.state);
  if (input.flat)
    text += fmt::format(" {}{} of {}", input.flat->staged ? "staged " : "", role_name(*input.flat),
                        input.flat->bundle);
  return text;
}

std::string print(const Bundle& bundle, const Mesh& mesh) {
  std::string text =
      fmt::format("  bundle {} {} shards={}", bundle.name, bundle.elements, bundle.shards);
  if (!bundle.rest.empty()) text += fmt::format(" over={}", mesh.word(bundle.rest));
  for (size_t i = 0; i < bundle.parameters.size(); ++i)
    text += fmt::format(" {}@{}", bundle.parameters[i], bundle.begins[i]);
  return text;
}

std::string print_size(std::string_view what, int64_t bytes) {
  return bytes ? fmt::format(" {}={}", what, bytes) : "";
}

std::vector<PrintedLine> print_class(const BlockClass& block_class, const Mesh& mesh, int index) {
  using Kind = PrintedLine::Kind;
  const Graph& graph = block_class.graph;
  std::vector<PrintedLine> lines;
  const auto add = [&](Kind kind, std::string text, std::vector<ValueId> values = {}) {
    lines.push_back({kind, std::move(text), index, std::move(values)});
  };
  add(Kind::Heading,
      fmt::format("class {}{}{}{} {{", block_class.name, print_size("slot", block_class.slot_bytes),
                  print_size("prepared", block_class.prepared_bytes),
                  print_size("away", block_class.away_bytes)));
  for (const GraphInput& input : graph.inputs())
    add(Kind::Input, print_input(graph, input, mesh), {input.value});
  for (const Bundle& bundle : block_class.bundles) add(Kind::Bundle, print(bundle, mesh));
  for (const Node& node : graph.nodes())
    add(Kind::Node, print_node(graph, node, mesh), node.results);
  for (const GraphOutput& output : graph.outputs())
    add(Kind::Output, print_output(graph, output), {output.value});
  add(Kind::Heading, "}");
  return lines;
}

std::string print_block(const Module& module, const Block& block) {
  std::string text = fmt::format("block {} = {}", block.name, module.class_of(block).name);
  for (const auto& [parameter, state] : block.ties) text += fmt::format(" {}={}", parameter, state);
  if (module.stages > 1)
    text += block.stage == kEveryStage ? " @every" : fmt::format(" @{}", block.stage);
  return text;
}

std::string join_lines(const std::vector<PrintedLine>& lines) {
  std::string text;
  for (const PrintedLine& line : lines) text += line.text + "\n";
  return text;
}

}  // namespace

std::string_view name(PrintedLine::Kind kind) {
  constexpr std::array<std::string_view, 6> kNames{"heading", "input",  "bundle",
                                                   "node",    "output", "block"};
  return kNames[static_cast<size_t>(kind)];
}

std::string print(const BlockClass& block_class, const Mesh& mesh) {
  return join_lines(print_class(block_class, mesh, 0));
}

std::vector<PrintedLine> print_lines(const Module& module) {
  std::vector<PrintedLine> lines;
  const auto heading = [&](std::string text) {
    lines.push_back({.kind = PrintedLine::Kind::Heading, .text = std::move(text)});
  };
  heading(fmt::format("module {} {}{}{}", module.name, name(module.form),
                      print_size("scratch", module.scratch_bytes),
                      print_size("host_scratch", module.host_scratch_bytes)));
  if (module.stages > 1)
    heading(fmt::format("stages {}{}", module.stages, module.split_backward ? " split" : ""));
  if (module.mesh.num_axes() > 0) {
    std::string mesh = "mesh";
    for (const Axis& axis : module.mesh.axes()) mesh += fmt::format(" {}={}", axis.name, axis.size);
    heading(std::move(mesh));
  }
  for (size_t i = 0; i < module.classes.size(); ++i)
    for (PrintedLine& line : print_class(module.classes[i], module.mesh, static_cast<int>(i)))
      lines.push_back(std::move(line));
  for (const Block& block : module.blocks)
    lines.push_back({.kind = PrintedLine::Kind::Block,
                     .text = print_block(module, block),
                     .class_index = block.class_index});
  return lines;
}

std::string print(const Module& module) { return join_lines(print_lines(module)); }

}  // namespace tessera
