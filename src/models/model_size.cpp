// SPDX-License-Identifier: Apache-2.0
#include "models/model_size.h"

#include <algorithm>

#include "ir/emit.h"
#include "ir/op_def.h"
#include "ir/op_list.h"
#include "models/build_model.h"

namespace tessera {
namespace {

int64_t own_parameters(const Graph& graph) {
  int64_t count = 0;
  for (const GraphInput& input : graph.inputs())
    if (input.state && input.state->role == StateRole::Parameter && !input.state->tied)
      count += graph.value(input.value).type.num_elements();
  return count;
}

int64_t top_k_of(const Graph& graph) {
  for (const Node& node : graph.nodes())
    if (node.op == OpKind::route) return node.attributes.integer("top_k");
  return 0;
}

// Of each that a token is multiplied by: `per_element` of its state, times its elements.
int64_t over_matmul_weights(const Graph& graph, int64_t (*per_element)(const StateSpec&)) {
  int64_t count = 0;
  for (const Node& node : graph.nodes()) {
    const bool experts = node.op == OpKind::expert_matmul;
    if (!experts && node.op != OpKind::matmul && node.op != OpKind::output_loss) continue;
    for (const ValueId operand : node.operands) {
      const GraphInput* input = graph.input_of(operand);
      if (!input || !input->state) continue;
      const TensorType& type = graph.value(operand).type;
      const int64_t elements =
          experts ? type.num_elements() / type.dims[0].size * top_k_of(graph) : type.num_elements();
      count += elements * per_element(*input->state);
    }
  }
  return count;
}

int64_t matmul_parameters(const Graph& graph) {
  return over_matmul_weights(graph, [](const StateSpec&) -> int64_t { return 1; });
}

// A product and its two gradients, of two operations each; a frozen weight has no gradient.
int64_t matmul_flops(const Graph& graph) {
  return over_matmul_weights(
      graph, [](const StateSpec& state) -> int64_t { return state.frozen ? 4 : 6; });
}

int64_t over_blocks(const Module& module, int64_t (*count)(const Graph&)) {
  std::vector<int64_t> by_class;
  for (const BlockClass& block_class : module.classes) by_class.push_back(count(block_class.graph));
  int64_t total = 0;
  for (const Block& block : module.blocks)
    total += by_class[static_cast<size_t>(block.class_index)];
  return total;
}

// Sizes of parameters do not depend on the batch. Maths of a program's own need not fit one token.
Module smallest_module(const ModelConfig& config) {
  const int64_t seq = config.own ? config.context : 1;
  return build_model(config, {.batch = 1, .seq = seq}, DType::Fp32, HeadKind::Loss);
}

// Of a forward of one sample, apart from products with weights: of tokens with tokens. Attention
// counts a full square.
struct TokenProducts {
  double attention = 0, others = 0;
};

void add_products(const Graph& graph, int64_t seq, TokenProducts& products) {
  const auto reads_weights = [&](const Node& node) {
    return std::ranges::any_of(node.operands, [&](ValueId id) {
      const GraphInput* input = graph.input_of(id);
      return input && input->state;
    });
  };
  for (const Node& node : graph.nodes()) {
    const auto elements = [&](ValueId id) {
      return static_cast<double>(graph.value(id).type.num_elements());
    };
    if (node.op == OpKind::attention)
      products.attention +=
          2 * (elements(node.operands[0]) + elements(node.results[0])) * static_cast<double>(seq);
    else if (node.op == OpKind::matmul && !reads_weights(node))
      products.others +=
          static_cast<double>(op_def(node.op)
                                  .cost({node.op, node.attributes, types_of(graph, node.operands),
                                         types_of(graph, node.results)})
                                  .flops);
  }
}

// A backward takes twice a forward.
FlopsPerToken own_flops_per_token(const ModelConfig& config, int64_t seq) {
  const Module module = build_model(config, {.batch = 1, .seq = seq}, DType::Fp32, HeadKind::Loss);
  TokenProducts products;
  for (const Block& block : module.blocks)
    add_products(module.class_of(block).graph, seq, products);
  const double tokens = static_cast<double>(seq);
  const double weights =
      static_cast<double>(over_blocks(module, matmul_flops)) + 3.0 * products.others / tokens;
  return {.causal = weights + 3.0 * products.attention / 2.0 / tokens,
          .full = weights + 3.0 * products.attention / tokens};
}

}  // namespace

int64_t parameter_count(const Module& module) { return over_blocks(module, own_parameters); }
int64_t matmul_parameter_count(const Module& module) {
  return over_blocks(module, matmul_parameters);
}

int64_t parameter_count(const ModelConfig& config) {
  return parameter_count(smallest_module(config));
}
int64_t matmul_parameter_count(const ModelConfig& config) {
  return matmul_parameter_count(smallest_module(config));
}

FlopsPerToken flops_per_token(const ModelConfig& config, int64_t seq) {
  const ModelConfig whole = resolved(config);
  if (whole.own) return own_flops_per_token(whole, seq);
  const auto weights = static_cast<double>(over_blocks(smallest_module(whole), matmul_flops));
  if (!whole.has_sequence()) return {.causal = weights, .full = weights};
  const double keys = 3.0 * static_cast<double>(whole.layers * whole.heads) *
                      static_cast<double>((whole.head_size + whole.value_size()) * seq);
  return {.causal = weights + keys, .full = weights + 2.0 * keys};
}

}  // namespace tessera
