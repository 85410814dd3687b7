// SPDX-License-Identifier: Apache-2.0
// One statement per line: `module`, `class {`, an input, a node, `return`, `}`, `block`. Blank
// lines and `#` comments are skipped.
#include "ir/parser.h"

#include <algorithm>
#include <charconv>

#include "ir/emit.h"
#include "ir/lexer.h"
#include "ir/verifier.h"

namespace tessera {
namespace {

Dims parse_dims(Lexer& line) {
  Dims dims;
  line.expect('[');
  while (!line.accept(']')) {
    if (!dims.empty()) line.expect(',');
    std::string dim = line.word();
    line.expect('=');
    const int64_t size = line.integer();
    if (size < 1) line.fail(fmt::format("dim {} has size {}: use 1 or more", dim, size));
    dims.push_back({std::move(dim), size});
  }
  return dims;
}

TensorType parse_type(Lexer& line) {
  const std::string word = line.word();
  const auto dtype = dtype_from_name(word);
  if (!dtype) line.fail(fmt::format("{} is not a dtype: use fp64, fp32, bf16 or int32", word));
  return {*dtype, parse_dims(line)};
}

// "at scratch+128:64" or "at persistent"
Location parse_location(Lexer& line) {
  Location location;
  if (!line.accept_word("at")) return location;
  std::string word = line.word();  // '+' belongs to words
  const size_t plus = word.find('+');
  const auto lifetime = lifetime_from_name(word.substr(0, plus));
  if (!lifetime) line.fail(fmt::format("{} is not a lifetime", word));
  location.lifetime = *lifetime;
  if (plus != std::string::npos) {
    const char* end = word.data() + word.size();
    const auto [rest, error] = std::from_chars(word.data() + plus + 1, end, location.offset);
    if (error != std::errc() || rest != end)
      line.fail(fmt::format("{} is not an offset", word.substr(plus + 1)));
    line.expect(':');
    location.bytes = line.integer();
  }
  return location;
}

// "on(dp=batch tp=+)"; nothing where replicated
Placement parse_placement(Lexer& line, const Mesh& mesh) {
  Placement placement(static_cast<size_t>(mesh.num_axes()));
  if (!line.accept_word("on")) return placement;
  line.expect('(');
  while (!line.accept(')')) {
    const std::string axis = line.word();
    const int found = mesh.find(axis);
    if (found < 0) line.fail(fmt::format("the mesh has no axis {}", axis));
    line.expect('=');
    const std::string dim = line.word();
    AxisPlacement& place = placement[static_cast<size_t>(found)];
    place = dim == "+" ? partial() : shard(dim, line.accept('\''));
  }
  return placement;
}

Init parse_init(Lexer& line) {
  if (line.accept_word("zeros")) return zeros();
  if (line.accept_word("ones")) return ones();
  if (line.accept_word("of_parameter")) return {.kind = Init::Kind::OfParameter};
  if (!line.accept_word("normal"))
    line.fail("expected zeros, ones, normal(deviation) or of_parameter");
  line.expect('(');
  const Init init = normal(line.real());
  line.expect(')');
  return init;
}

StateSpec parse_state(Lexer& line) {
  StateSpec state;
  const std::string word = line.word();
  if (!set_role(state, word)) line.fail(fmt::format("{} is not a state role", word));
  if (line.accept_word("of")) state.parameter = line.word();
  state.init = parse_init(line);
  state.decay = line.accept_word("decay");
  state.tied = line.accept_word("tied");
  if (line.accept_word("joined")) state.joined = line.word();
  state.replica = line.accept_word("replica");
  state.pure = line.accept_word("pure");
  state.frozen = line.accept_word("frozen");
  state.in_base = line.accept_word("in_base");
  if (line.accept_word("matrix")) state.matrix = line.word();
  if (line.accept_word("optimizer")) state.optimizer = line.word();
  if (line.accept_word("group")) state.group = line.integer();
  if (line.accept_word("balanced")) state.balance_rate = line.real();
  return state;
}

FlatSpec parse_flat(Lexer& line) {
  FlatSpec flat;
  flat.staged = line.accept_word("staged");
  const std::string word = line.word();
  if (!set_role(flat, word)) line.fail(fmt::format("{} is not a flat buffer's role", word));
  if (!line.accept_word("of")) line.fail("expected of");
  flat.bundle = line.word();
  return flat;
}

Attribute parse_attribute(Lexer& line, const Attribute& like) {
  if (std::holds_alternative<int64_t>(like)) return line.integer();
  if (std::holds_alternative<double>(like)) return line.real();
  return line.word();
}

Attributes parse_attributes(Lexer& line, OpKind op) {
  Attributes attributes;
  if (!line.accept('{')) return attributes;
  while (!line.accept('}')) {
    if (!attributes.entries().empty()) line.expect(',');
    const std::string key = line.word();
    const AttributeSpec* spec = nullptr;
    for (const AttributeSpec& candidate : op_def(op).attributes)
      if (candidate.name == key) spec = &candidate;
    if (!spec) line.fail(fmt::format("{} has no attribute {}", name(op), key));
    line.expect('=');
    attributes.set(key, parse_attribute(line, spec->fallback));
  }
  return attributes;
}

ValueId known_value(Lexer& line, const Graph& graph) {
  const std::string value = line.value_name();
  const ValueId id = graph.find_value(value);
  if (id == kNone) line.fail(fmt::format("%{} is not defined above", value));
  return id;
}

// "in host"; nothing on the device
MemorySpace parse_space(Lexer& line) {
  if (!line.accept_word("in")) return MemorySpace::Device;
  if (!line.accept_word("host")) line.fail("expected host");
  return MemorySpace::Host;
}

struct ResultText {
  std::string name;
  std::optional<TensorType> type;
  Placement placement;
  MemorySpace space = MemorySpace::Device;
  Location location;
};

std::vector<ResultText> parse_results(Lexer& line, const Graph& graph, const Mesh& mesh) {
  std::vector<ResultText> results;
  do {
    ResultText result{.name = line.value_name(), .type = {}, .placement = {}, .location = {}};
    if (line.accept(':')) {
      result.type = parse_type(line);
      result.placement = parse_placement(line, mesh);
      result.space = parse_space(line);
      result.location = parse_location(line);
    }
    const bool twice = graph.find_value(result.name) != kNone ||
                       std::any_of(results.begin(), results.end(), [&](const ResultText& other) {
                         return other.name == result.name;
                       });
    if (twice) line.fail(fmt::format("%{} is defined twice", result.name));
    results.push_back(std::move(result));
  } while (line.accept(','));
  line.expect('=');
  return results;
}

// What the op says about the call, with the line it stands in.
std::vector<ValueId> emit_at(const Lexer& line, Graph& graph, OpKind op,
                             std::vector<ValueId> operands, EmitOptions options) {
  try {
    return emit(graph, op, std::move(operands), std::move(options));
  } catch (const UserError& error) {
    line.fail(error.message());
  }
}

void parse_node(Lexer& line, Graph& graph, const Mesh& mesh) {
  const std::vector<ResultText> results = parse_results(line, graph, mesh);
  const std::string op_name = line.word();
  const auto op = op_from_name(op_name);
  if (!op) line.fail(fmt::format("there is no op {}", op_name));
  line.expect('(');
  std::vector<ValueId> operands;
  while (!line.accept(')')) {
    if (!operands.empty()) line.expect(',');
    operands.push_back(known_value(line, graph));
  }
  EmitOptions options{.attributes = parse_attributes(line, *op),
                      .phase = Phase::Forward,
                      .name = results.front().name};
  if (line.accept('@')) {
    const std::string phase = line.word();
    const auto known = phase_from_name(phase);
    if (!known) line.fail(fmt::format("{} is not a phase", phase));
    options.phase = *known;
  }
  Location workspace;
  if (line.accept_word("workspace")) workspace = parse_location(line);
  const std::vector<ValueId> ids =
      emit_at(line, graph, *op, std::move(operands), std::move(options));
  if (ids.size() != results.size())
    line.fail(fmt::format("{} yields {} results here", op_name, ids.size()));
  for (size_t i = 0; i < ids.size(); ++i) {
    Value& value = graph.value(ids[i]);
    if (results[i].type && *results[i].type != value.type)
      line.fail(fmt::format("%{} is {}, not {}", results[i].name, to_string(value.type),
                            to_string(*results[i].type)));
    value.name = results[i].name;
    value.placement = results[i].placement;
    value.space = results[i].space;
    value.location = results[i].location;
    if (i == 0) graph.node(value.producer).workspace = workspace;
  }
}

void parse_return(Lexer& line, Graph& graph) {
  const std::string word = line.word();
  const auto kind = output_kind_from_name(word);
  if (!kind) line.fail(fmt::format("{} is not a kind of output", word));
  GraphOutput output{.kind = *kind, .value = kNone, .target = {}, .accumulates = false};
  if (!line.peek('%')) output.target = line.word();
  output.value = known_value(line, graph);
  output.accumulates = line.accept_word("accumulate");
  graph.add_output(std::move(output));
}

void parse_input(Lexer& line, Graph& graph, const Mesh& mesh) {
  const std::string word = line.word();
  const auto kind = input_kind_from_name(word);
  if (!kind) line.fail(fmt::format("{} begins no statement", word));
  std::string value_name = line.value_name();
  if (graph.find_value(value_name) != kNone)
    line.fail(fmt::format("%{} is defined twice", value_name));
  line.expect(':');
  TensorType type = parse_type(line);
  Placement placement = parse_placement(line, mesh);
  const MemorySpace space = parse_space(line);
  const Location location = parse_location(line);
  GraphInput input{.kind = *kind, .value = kNone, .state = {}};
  if (line.accept_word("whole")) input.whole = parse_dims(line);
  if (*kind == InputKind::State) input.state = parse_state(line);
  if (*kind == InputKind::Flat) input.flat = parse_flat(line);
  const ValueId id = graph.add_input(std::move(input), std::move(value_name), std::move(type));
  graph.value(id).placement = std::move(placement);
  graph.value(id).space = space;
  graph.value(id).location = location;
}

// "bundle b0 64 shards=4 over=fsdp+cp wq@0 wk@32"
void parse_bundle(Lexer& line, BlockClass& block_class, const Mesh& mesh) {
  Bundle bundle{.name = line.word(), .parameters = {}, .begins = {}};
  bundle.elements = line.integer();
  if (!line.accept_word("shards")) line.fail("expected shards=N");
  line.expect('=');
  bundle.shards = static_cast<int>(line.integer());
  if (line.accept_word("over")) {
    line.expect('=');
    bundle.rest = mesh.parse_word(line.word());
  }
  if (bundle.shards != mesh.size(bundle.rest))
    line.fail(fmt::format("{} shards do not fit the axes of the bundle, which have {} ranks",
                          bundle.shards, mesh.size(bundle.rest)));
  while (!line.at_end()) {
    bundle.parameters.push_back(line.word());
    line.expect('@');
    bundle.begins.push_back(line.integer());
  }
  block_class.bundles.push_back(std::move(bundle));
}

void parse_class_line(Lexer& line, BlockClass& block_class, const Mesh& mesh) {
  if (line.peek('%'))
    parse_node(line, block_class.graph, mesh);
  else if (line.accept_word("return"))
    parse_return(line, block_class.graph);
  else if (line.accept_word("bundle"))
    parse_bundle(line, block_class, mesh);
  else
    parse_input(line, block_class.graph, mesh);
}

void parse_mesh_line(Lexer& line, Module& module) {
  std::vector<Axis> axes;
  while (!line.at_end()) {
    std::string axis = line.word();
    line.expect('=');
    axes.push_back({std::move(axis), static_cast<int>(line.integer())});
  }
  module.mesh = Mesh(std::move(axes));
}

void parse_block(Lexer& line, Module& module) {
  Block block{.name = line.word(), .class_index = kNone, .ties = {}};
  line.expect('=');
  const std::string class_name = line.word();
  block.class_index = module.find_class(class_name);
  if (block.class_index == kNone) line.fail(fmt::format("there is no class {}", class_name));
  while (!line.at_end() && !line.accept('@')) {
    std::string parameter = line.word();
    line.expect('=');
    block.ties.emplace_back(std::move(parameter), line.word());
  }
  if (!line.at_end())
    block.stage = line.accept_word("every") ? kEveryStage : static_cast<int>(line.integer());
  module.blocks.push_back(std::move(block));
}

void parse_stages_line(Lexer& line, Module& module) {
  module.stages = static_cast<int>(line.integer());
  module.split_backward = line.accept_word("split");
}

void parse_module_line(Lexer& line, Module& module) {
  if (!module.name.empty()) line.fail("there are two module lines");
  module.name = line.word();
  const std::string form = line.word();
  const auto known = form_from_name(form);
  if (!known) line.fail(fmt::format("{} is not a form: use maths, step, local or planned", form));
  module.form = *known;
  if (line.accept_word("scratch")) {
    line.expect('=');
    module.scratch_bytes = line.integer();
  }
  if (line.accept_word("host_scratch")) {
    line.expect('=');
    module.host_scratch_bytes = line.integer();
  }
}

void parse_class_head(Lexer& line, Module& module) {
  BlockClass block_class{.name = line.word(), .graph = {}, .slot_bytes = 0};
  if (module.find_class(block_class.name) != kNone)
    line.fail(fmt::format("class {} is defined twice", block_class.name));
  if (line.accept_word("slot")) {
    line.expect('=');
    block_class.slot_bytes = line.integer();
  }
  if (line.accept_word("prepared")) {
    line.expect('=');
    block_class.prepared_bytes = line.integer();
  }
  if (line.accept_word("away")) {
    line.expect('=');
    block_class.away_bytes = line.integer();
  }
  line.expect('{');
  module.classes.push_back(std::move(block_class));
}

}  // namespace

Module parse_module(std::string_view text) {
  Module module;
  bool in_class = false;
  int number = 0;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    std::string_view content = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    content = content.substr(0, content.find('#'));
    Lexer line(content, ++number);
    if (line.at_end()) continue;
    if (in_class && line.accept('}'))
      in_class = false;
    else if (in_class)
      parse_class_line(line, module.classes.back(), module.mesh);
    else if (line.accept_word("module"))
      parse_module_line(line, module);
    else if (line.accept_word("stages"))
      parse_stages_line(line, module);
    else if (line.accept_word("mesh"))
      parse_mesh_line(line, module);
    else if (line.accept_word("class")) {
      parse_class_head(line, module);
      in_class = true;
    } else if (line.accept_word("block"))
      parse_block(line, module);
    else
      line.fail("expected module, class or block");
    if (!line.at_end()) line.fail("text left over at the end of the line");
  }
  if (in_class) throw user_error("IR ends inside class {}", module.classes.back().name);
  if (module.name.empty())
    throw user_error("IR has no module line").help("begin with `module <name> maths`");
  verify(module);
  return module;
}

}  // namespace tessera
