// SPDX-License-Identifier: Apache-2.0
// A value that several matmuls read is quantised by one node, in the earliest of their phases.
// Weights are, once for a step (phase prepare); where they are gathered for each use, or the plan
// says so, once in each direction. Of experts weights are matrices, rows a pool. Products of a
// router, where a rounded score chooses another expert, and of adapters, which are small, are left.
#include "passes/precision/use_fp8.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "ir/emit.h"
#include "ir/op_list.h"
#include "models/lora.h"

namespace tessera {
namespace {

bool is_layer(const Graph& graph) {
  return graph.find_output(OutputKind::Stream) &&
         std::any_of(graph.inputs().begin(), graph.inputs().end(),
                     [](const GraphInput& input) { return input.kind == InputKind::Stream; });
}

class Fp8Layer {
 public:
  Fp8Layer(Graph& graph, const Fp8Plan& plan) : graph_(graph), plan_(plan) {}

  int64_t run() {
    for (const Node& node : graph_.nodes())
      if (node.op == OpKind::route)
        choices_.insert(graph_.value(node.operands[0]).type.dims.back().name);
    const std::vector<Node> nodes = graph_.nodes();
    for (const Node& node : nodes)
      if (is_chosen(node))
        for (const size_t i : {0, 1}) note_use(node, i);
    for (const Node& node : nodes) order_.push_back(is_chosen(node) ? in_fp8(node) : node);
    prepared_.insert(prepared_.end(), order_.begin(), order_.end());
    graph_.rebuild(std::move(prepared_));
    return used_;
  }

  int64_t quantized() const { return quantized_; }

 private:
  // What one quantize node gives. A value whose outermost `split` dims are rows for one matmul and
  // others for another has two.
  struct Key {
    ValueId value;
    int64_t split;
    bool backward;         // of weights that are quantised where they are read
    ValueId ends = kNone;  // of a pool

    auto operator<=>(const Key&) const = default;
  };
  struct Wanted {
    bool as_is = false, turned = false;
    Phase phase = Phase::Update;  // the earliest that reads it
  };
  struct Matrix {
    ValueId bytes = kNone, scale = kNone;
  };
  struct Quantized {
    Matrix as_is, turned;
  };
  struct Found {
    ValueId largest;
    Phase phase;
  };

  static bool is_of_experts(const Node& node) {
    return node.op == OpKind::expert_matmul || node.op == OpKind::expert_matmul_dw;
  }

  bool is_chosen(const Node& node) const {
    if (is_of_adapter(node)) return false;
    return is_of_experts(node) ||
           (node.op == OpKind::matmul && node.operands.size() == 2 && !is_of_router(node));
  }

  bool is_of_adapter(const Node& node) const {
    const auto has_rank = [&](ValueId id) { return graph_.value(id).type.has(kLoraDim); };
    return std::ranges::any_of(node.operands, has_rank) ||
           std::ranges::any_of(node.results, has_rank);
  }

  // One of its tensors has the dim of the router's scores.
  bool is_of_router(const Node& node) const {
    const auto has_choice = [&](ValueId id) {
      return std::any_of(choices_.begin(), choices_.end(),
                         [&](const std::string& dim) { return graph_.value(id).type.has(dim); });
    };
    return std::any_of(node.operands.begin(), node.operands.end(), has_choice) ||
           std::any_of(node.results.begin(), node.results.end(), has_choice);
  }

  bool is_weight(ValueId value) const {
    const GraphInput* input = graph_.input_of(value);
    return input && input->kind == InputKind::State;
  }

  bool is_gradient(ValueId value) const {
    if (const GraphInput* input = graph_.input_of(value))
      return input->kind == InputKind::OutputGradient;
    return makes_gradients(graph_.node(graph_.value(value).producer).phase);
  }

  // Tiles and blocks are added in full.
  bool is_fast(Phase phase) const {
    const bool backward = side(phase) == StepSide::Backward;
    return !plan_.blocks && (backward ? plan_.fast_backward : plan_.fast_forward);
  }

  bool is_prepared(ValueId value) const { return is_weight(value) && !plan_.at_use; }

  // The matmul sums over the innermost dims of operand i, else over the outermost.
  bool reads_as_is(const Node& node, size_t i) const {
    if (node.op == OpKind::expert_matmul_dw) return false;  // over the pool's rows
    return graph_.value(node.operands[1 - i])
        .type.has(graph_.value(node.operands[i]).type.dims.back().name);
  }

  bool is_pool(const Node& node, size_t i) const {
    return node.op == OpKind::expert_matmul_dw || (node.op == OpKind::expert_matmul && i == 0);
  }

  Key key_of(const Node& node, size_t i) const {
    if (is_pool(node, i)) return {node.operands[i], 2, false, node.operands[2]};
    const Dims& dims = graph_.value(node.operands[i]).type.dims;
    const TensorType& other = graph_.value(node.operands[1 - i]).type;
    const size_t matrices = is_of_experts(node) ? 1 : 0;
    auto split = static_cast<int64_t>(matrices) + 1;
    while (other.has(dims[static_cast<size_t>(split)].name) == other.has(dims[matrices].name))
      ++split;
    const bool apart = is_weight(node.operands[i]) && plan_.at_use;
    return {node.operands[i], split, apart && side(node.phase) == StepSide::Backward};
  }

  void note_use(const Node& node, size_t i) {
    if (node.op == OpKind::expert_matmul && i == 1) experts_weights_.insert(node.operands[i]);
    Wanted& wanted = wanted_[key_of(node, i)];
    (reads_as_is(node, i) ? wanted.as_is : wanted.turned) = true;
    wanted.phase =
        is_prepared(node.operands[i]) ? Phase::Prepare : std::min(wanted.phase, node.phase);
  }

  std::vector<Node>& order_of(Phase phase) { return phase == Phase::Prepare ? prepared_ : order_; }

  std::vector<ValueId> emit_node(OpKind op, std::vector<ValueId> operands, Attributes attributes,
                                 Phase phase, const std::string& about) {
    std::vector<ValueId> results =
        emit(graph_, op, std::move(operands),
             {.attributes = std::move(attributes), .phase = phase, .name = about});
    order_of(phase).push_back(graph_.nodes().back());
    return results;
  }

  // Found once. Nothing may depend on weight gradients, which a schedule can run later.
  ValueId largest_of(const Key& key, Phase phase) {
    const ValueId value = key.value;
    if (const auto found = largest_.find(value);
        found != largest_.end() && found->second.phase <= phase)
      return found->second.largest;
    const bool pool = key.ends != kNone;
    std::vector<ValueId> operands{value};
    if (pool) operands.push_back(key.ends);
    const ValueId largest =
        emit_node(pool ? OpKind::largest_pool_entry : OpKind::largest_entry, std::move(operands),
                  {}, phase, graph_.value(value).name + "_largest")
            .front();
    largest_[value] = {largest, phase};
    return largest;
  }

  Attributes layout_of(const Key& key, const char* scaling) const {
    const Wanted& wanted = wanted_.at(key);
    const Fp8 format = is_gradient(key.value) ? plan_.gradients : Fp8::E4m3;
    Attributes all{{"format", std::string(name(format))},
                   {"scaling", scaling},
                   {"layout", wanted.as_is && wanted.turned ? "both"
                              : wanted.turned               ? "turned"
                                                            : "as_is"}};
    if (key.ends != kNone) return all;
    all.set("split", key.split);
    if (experts_weights_.contains(key.value)) all.set("matrices", int64_t{1});
    return all;
  }

  Quantized quantize(const Key& key) {
    const Wanted& wanted = wanted_.at(key);
    const char* scaling = !plan_.blocks ? "tensor" : is_weight(key.value) ? "blocks" : "tiles";
    const bool both = wanted.as_is && wanted.turned;
    std::vector<ValueId> operands{key.value};
    const bool pool = key.ends != kNone;
    if (pool) operands.push_back(key.ends);
    if (!plan_.blocks) operands.push_back(largest_of(key, wanted.phase));
    const std::vector<ValueId> results =
        emit_node(pool ? OpKind::quantize_pool : OpKind::quantize, std::move(operands),
                  layout_of(key, scaling), wanted.phase, graph_.value(key.value).name + "_fp8");
    ++quantized_;
    const Matrix first{results[0], results[1]};
    if (both) return {.as_is = first, .turned = {results[2], results[3]}};
    return wanted.turned ? Quantized{.as_is = {}, .turned = first}
                         : Quantized{.as_is = first, .turned = {}};
  }

  Matrix operand_of(const Node& node, size_t i) {
    const Key key = key_of(node, i);
    auto made = made_.find(key);
    if (made == made_.end()) made = made_.emplace(key, quantize(key)).first;
    return reads_as_is(node, i) ? made->second.as_is : made->second.turned;
  }

  static OpKind op_in_fp8(OpKind op) {
    if (op == OpKind::expert_matmul) return OpKind::expert_matmul_fp8;
    return op == OpKind::expert_matmul_dw ? OpKind::expert_matmul_dw_fp8 : OpKind::matmul_fp8;
  }

  Node in_fp8(const Node& node) {
    const Matrix x = operand_of(node, 0), w = operand_of(node, 1);
    std::string dtype = node.attributes.word("dtype");
    if (dtype == "same") dtype = name(graph_.value(node.operands[0]).type.dtype);
    Attributes attributes{{"dtype", dtype}};
    std::vector<ValueId> operands{x.bytes, w.bytes, x.scale, w.scale};
    if (is_of_experts(node))
      operands.push_back(node.operands[2]);
    else
      attributes.set("fast", int64_t{is_fast(node.phase)});
    emit(graph_, op_in_fp8(node.op), std::move(operands),
         {.attributes = std::move(attributes),
          .phase = node.phase,
          .name = graph_.value(node.results[0]).name});
    Node made = graph_.nodes().back();
    made.results[0] = node.results[0];
    graph_.value(node.results[0]).origin.changed = true;
    ++used_;
    return made;
  }

  Graph& graph_;
  const Fp8Plan& plan_;
  std::set<std::string> choices_;  // dims of routers' scores
  std::set<ValueId> experts_weights_;
  std::map<Key, Wanted> wanted_;
  std::map<Key, Quantized> made_;
  std::map<ValueId, Found> largest_;
  std::vector<Node> prepared_, order_;
  int64_t used_ = 0, quantized_ = 0;
};

PassCounts run(Module& module, const Fp8Plan& plan) {
  int64_t used = 0, quantized = 0;
  for (BlockClass& block_class : module.classes) {
    if (!is_layer(block_class.graph)) continue;
    Fp8Layer layer(block_class.graph, plan);
    used += layer.run();
    quantized += layer.quantized();
  }
  return {{"matmuls", used}, {"quantized", quantized}};
}

}  // namespace

Pass use_fp8(const Plan& plan) {
  std::optional<Fp8Plan> fp8 = plan.fp8;
  const bool gathered = (plan.zero == 3 && !plan.shard_axes.empty()) ||
                        plan.offload.states == OffloadedStates::Parameters;
  if (fp8 && gathered) fp8->at_use = true;
  return {.name = "use_fp8",
          .summary =
              "lets the layers' matmuls read 8-bit floats, where the plan says so: each "
              "value is quantised once",
          .requires_form = Form::Local,
          .ensures_form = Form::Local,
          .run = [fp8](Module& module) {
            return fp8 ? run(module, *fp8) : PassCounts{{"matmuls", 0}, {"quantized", 0}};
          }};
}

}  // namespace tessera
