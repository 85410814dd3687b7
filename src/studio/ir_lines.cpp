// SPDX-License-Identifier: Apache-2.0
#include "studio/ir_lines.h"

#include "core/error.h"

namespace tessera {
namespace {

constexpr const char* kMade = "node";

// What a line stands for: a node, or the kind of input or output.
std::string role_of(const BlockClass& block_class, const PrintedLine& line, size_t output) {
  const Graph& graph = block_class.graph;
  if (line.kind == PrintedLine::Kind::Input)
    return "in " + std::string(name(graph.input_of(line.values.front())->kind));
  if (line.kind == PrintedLine::Kind::Output)
    return "out " + std::string(name(graph.outputs()[output].kind));
  return kMade;
}

std::string role_of(RoutineKind routine) {
  const auto in = [](InputKind kind) { return "in " + std::string(name(kind)); };
  const auto out = [](OutputKind kind) { return "out " + std::string(name(kind)); };
  switch (routine) {
    case RoutineKind::StreamIn:
    case RoutineKind::StreamInDone:
      return in(InputKind::Stream);
    case RoutineKind::GradientIn:
    case RoutineKind::GradientInDone:
      return in(InputKind::OutputGradient);
    case RoutineKind::StreamOut:
    case RoutineKind::StreamOutDone:
      return out(OutputKind::Stream);
    case RoutineKind::GradientOut:
    case RoutineKind::GradientOutDone:
      return out(OutputKind::InputGradient);
    default:
      return kMade;
  }
}

}  // namespace

void add_origin(Json& json, const Module& module, const PrintedLine& line) {
  const Graph& graph = module.classes[static_cast<size_t>(line.class_index)].graph;
  const Origin& origin = graph.value(line.values.front()).origin;
  if (origin.line.known()) json["source"] = to_string(origin.line);
  json["made_by"] = origin.made_by.empty() ? kMadeByModel : origin.made_by;
  if (!origin.changed_by.empty()) json["changed_by"] = origin.changed_by;
}

IrLines::IrLines(const Module& module) : module_(module), lines_(print_lines(module)) {
  size_t output = 0;
  for (size_t i = 0; i < lines_.size(); ++i) {
    const PrintedLine& line = lines_[i];
    if (line.kind == PrintedLine::Kind::Heading) output = 0;
    if (line.values.empty()) continue;
    const BlockClass& block_class = module.classes[static_cast<size_t>(line.class_index)];
    const std::string role = role_of(block_class, line, output);
    if (line.kind == PrintedLine::Kind::Output) ++output;
    for (const ValueId value : line.values)
      line_.try_emplace({block_class.name, role, block_class.graph.value(value).name},
                        static_cast<int>(i));
  }
}

int IrLines::line_of(const ProgramClass& program_class, RoutineKind routine,
                     const Instruction& instruction) const {
  const std::span<const int> written = writes(instruction);
  const int buffer = written.empty() ? reads(instruction).front() : written.front();
  const auto found = line_.find({program_class.name, role_of(routine),
                                 program_class.buffers[static_cast<size_t>(buffer)].name});
  TESSERA_CHECK(found != line_.end(), "{} of {}.{} has no line", name(instruction),
                program_class.name, name(routine));
  return found->second;
}

}  // namespace tessera
