// SPDX-License-Identifier: Apache-2.0
#include "models/lora.h"

#include <fmt/ranges.h>
#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include "core/error.h"
#include "ir/emit.h"
#include "ir/op_list.h"
#include "ir/verifier.h"

namespace tessera {
namespace {

constexpr char kRows = 'r', kStack = 's';

// The names that PEFT's users know, of transformers' modules.
struct OtherName {
  std::string_view theirs, ours;  // with several of ours, one entry each
};
constexpr std::array kOtherNames{
    OtherName{"q_proj", "wq"},      OtherName{"k_proj", "wk"},      OtherName{"v_proj", "wv"},
    OtherName{"o_proj", "wo"},      OtherName{"gate_proj", "gate"}, OtherName{"up_proj", "up"},
    OtherName{"down_proj", "down"}, OtherName{"c_attn", "wq"},      OtherName{"c_attn", "wk"},
    OtherName{"c_attn", "wv"},      OtherName{"c_fc", "up"},        OtherName{"c_proj", "wo"},
    OtherName{"c_proj", "down"},    OtherName{"all-linear", "*"}};

bool is_target(const std::string& target, const std::string& name) {
  if (target == "all" || fnmatch(target.c_str(), name.c_str(), 0) == 0) return true;
  return std::ranges::any_of(kOtherNames, [&](const OtherName& other) {
    return other.theirs == target && (other.ours == name || other.ours == "*");
  });
}

// "gate_up" is two: "gate" and "up", and so is "shared_gate_up". Others are numbered.
std::string part_name(const std::string& weight, int64_t parts, int64_t index) {
  constexpr std::string_view kGateUp = "gate_up";
  if (parts == 2 && weight.ends_with(kGateUp))
    return weight.substr(0, weight.size() - kGateUp.size()) + (index == 0 ? "gate" : "up");
  return fmt::format("{}_{}", weight, index);
}

// All that a matmul weight could have, targeted or not.
std::vector<Adapter> adapters_of_weight(const Graph& graph, const GraphInput& weight) {
  const Value& value = graph.value(weight.value);
  const std::string& letters = weight.state->matrix;
  Adapter whole{.weight = value.name, .name = value.name};
  int64_t parts = 0;
  for (size_t i = 0; i < letters.size(); ++i) {
    const Dim& dim = value.type.dims[i];
    if (letters[i] == kStack) {
      if (parts > 0) return {};  // of experts: no matmul reads them
      whole.stack = dim.name;
      parts = dim.size;
    } else {
      (letters[i] == kRows ? whole.inputs : whole.outputs).push_back(dim);
    }
  }
  if (parts == 0) return {whole};
  std::vector<Adapter> adapters(static_cast<size_t>(parts), whole);
  for (int64_t i = 0; i < parts; ++i) {
    adapters[static_cast<size_t>(i)].index = static_cast<int>(i);
    adapters[static_cast<size_t>(i)].name = part_name(value.name, parts, i);
  }
  return adapters;
}

// Weights that plain matmuls read, in the order of the graph's inputs.
std::vector<Adapter> possible_adapters(const BlockClass& block_class) {
  const Graph& graph = block_class.graph;
  std::vector<Adapter> all;
  for (const GraphInput& input : graph.inputs()) {
    if (!input.state || input.state->matrix.empty() || input.state->tied) continue;
    const bool is_multiplied = std::ranges::any_of(graph.nodes(), [&](const Node& node) {
      return node.op == OpKind::matmul && node.operands[1] == input.value;
    });
    if (!is_multiplied) continue;
    for (Adapter& adapter : adapters_of_weight(graph, input)) all.push_back(std::move(adapter));
  }
  return all;
}

void require_targets(const Module& module, const LoraConfig& lora) {
  std::set<std::string> names;
  for (const BlockClass& block_class : module.classes)
    for (const Adapter& adapter : possible_adapters(block_class)) names.insert(adapter.name);
  if (names.empty())
    throw user_error("lora.rank = {}, but model {} declares no weights of matmuls", lora.rank,
                     module.name)
        .at("lora.rank")
        .help("declare them in the model with matrix() instead of parameter()");
  for (const std::string& target : lora.targets) {
    const bool known = std::ranges::any_of(module.classes, [&](const BlockClass& block_class) {
      return std::ranges::any_of(possible_adapters(block_class), [&](const Adapter& adapter) {
        return is_target(target, adapter.name) || is_target(target, adapter.weight);
      });
    });
    if (!known)
      throw user_error("lora.targets has {}, which no matmul of the model reads", target)
          .at("lora.targets")
          .help(
              fmt::format("use all, or some of {}; * and ? as in a glob", fmt::join(names, ", ")));
  }
}

class ClassLora {
 public:
  ClassLora(BlockClass& block_class, const LoraConfig& lora)
      : graph_(block_class.graph), lora_(lora), adapters_(adapters_of(block_class, lora)) {}

  void add() {
    for (GraphInput& input : graph_.inputs()) freeze(input);
    const std::vector<Node> nodes = graph_.nodes();
    for (Node node : nodes) {
      for (ValueId& operand : node.operands) operand = now(operand);
      order_.push_back(node);
      if (node.op == OpKind::matmul) add_beside(node);
    }
    for (GraphOutput& output : graph_.outputs()) output.value = now(output.value);
    graph_.rebuild(std::move(order_));
  }

 private:
  void freeze(GraphInput& input) const {
    if (!input.state || input.state->role != StateRole::Parameter) return;
    input.state->frozen = true;
    input.state->in_base = lora_.in_base;
    input.state->balance_rate = 0;
  }

  ValueId now(ValueId value) const {
    const auto found = replaced_.find(value);
    return found == replaced_.end() ? value : found->second;
  }

  ValueId parameter(const std::string& name, Dims dims, std::string matrix, Init init,
                    const Value& weight) {
    const DType dtype = weight.type.dtype;
    const SourceLine line = weight.origin.line;
    const ValueId id = graph_.add_input(
        {.kind = InputKind::State,
         .value = kNone,
         .state = StateSpec{.init = init, .decay = true, .matrix = std::move(matrix)}},
        name, {dtype, std::move(dims)});
    TESSERA_CHECK(graph_.value(id).name == name, "two values are called {}", name);
    graph_.value(id).origin.line = line;
    return id;
  }

  ValueId emitted(OpKind op, std::vector<ValueId> operands, Attributes attributes,
                  const std::string& name, SourceLine line) {
    const ValueId result = emit(graph_, op, std::move(operands),
                                {.attributes = std::move(attributes), .name = name, .line = line})
                               .front();
    order_.push_back(graph_.nodes().back());
    return result;
  }

  void add_beside(const Node& matmul) {
    const GraphInput* weight = graph_.input_of(matmul.operands[1]);
    if (!weight) return;
    const std::string name = graph_.value(weight->value).name;
    for (const Adapter& adapter : adapters_)
      if (adapter.weight == name) add_adapter(matmul, adapter);
  }

  struct Pair {
    ValueId down, up;
  };

  // Made once, also where several matmuls read the weight. As PEFT begins: A has the deviation of a
  // uniform number below the root of one over its inputs.
  Pair parameters_of(const Adapter& adapter, ValueId of) {
    const auto known = pairs_.find(adapter.name);
    if (known != pairs_.end()) return known->second;
    const Value weight = graph_.value(of);
    const Dim rank{std::string(kLoraDim), lora_.rank};
    int64_t fan_in = 1;
    for (const Dim& dim : adapter.inputs) fan_in *= dim.size;
    Dims a = adapter.inputs, b{rank};
    a.push_back(rank);
    b.insert(b.end(), adapter.outputs.begin(), adapter.outputs.end());
    const ValueId down =
        parameter(adapter.a(), a, std::string(adapter.inputs.size(), kRows) + 'c',
                  normal(1 / std::sqrt(3.0 * static_cast<double>(fan_in))), weight);
    const ValueId up =
        parameter(adapter.b(), b, 'r' + std::string(adapter.outputs.size(), 'c'), zeros(), weight);
    return pairs_.emplace(adapter.name, Pair{down, up}).first->second;
  }

  void add_adapter(const Node& matmul, const Adapter& adapter) {
    const auto [down, up] = parameters_of(adapter, matmul.operands[1]);
    const SourceLine line = graph_.value(matmul.results[0]).origin.line;
    const ValueId narrow =
        emitted(OpKind::matmul, {matmul.operands[0], down}, {}, adapter.name + "_lora", line);
    const ValueId scaled = emitted(OpKind::scale, {narrow}, {{"factor", lora_.factor()}},
                                   adapter.name + "_lora_scaled", line);
    const ValueId more = emitted(OpKind::matmul, {scaled, up}, {}, adapter.name + "_lora_up", line);
    const ValueId before = now(matmul.results[0]);
    const std::string sum = adapter.name + "_with_lora";
    replaced_[matmul.results[0]] =
        adapter.index < 0
            ? emitted(OpKind::add, {before, more}, {}, sum, line)
            : emitted(OpKind::add_part, {before, more},
                      {{"dim", adapter.stack}, {"index", int64_t{adapter.index}}}, sum, line);
  }

  Graph& graph_;
  const LoraConfig& lora_;
  std::vector<Adapter> adapters_;
  std::vector<Node> order_;
  std::map<std::string, Pair> pairs_;    // by the adapter's name
  std::map<ValueId, ValueId> replaced_;  // results of matmuls, by the sums that readers now take
};

}  // namespace

std::vector<Adapter> adapters_of(const BlockClass& block_class, const LoraConfig& lora) {
  std::vector<Adapter> adapters = possible_adapters(block_class);
  if (lora.targets.empty()) return adapters;
  std::erase_if(adapters, [&](const Adapter& adapter) {
    return std::ranges::none_of(lora.targets, [&](const std::string& target) {
      return is_target(target, adapter.name) || is_target(target, adapter.weight);
    });
  });
  return adapters;
}

std::vector<BlockAdapter> adapters_of(const Module& module, const LoraConfig& lora) {
  std::vector<BlockAdapter> all;
  for (const Block& block : module.blocks)
    for (const Adapter& adapter : adapters_of(module.class_of(block), lora)) {
      const auto full = [&](const std::string& name) { return block.name + "." + name; };
      all.push_back({.adapter = adapter,
                     .weight = full(adapter.weight),
                     .a = full(adapter.a()),
                     .b = full(adapter.b())});
    }
  return all;
}

void add_lora(Module& module, const LoraConfig& lora) {
  require_targets(module, lora);
  for (BlockClass& block_class : module.classes) ClassLora(block_class, lora).add();
  verify(module);
}

bool is_adapter(std::string_view parameter) {
  return parameter.ends_with("_lora_a") || parameter.ends_with("_lora_b");
}

}  // namespace tessera
