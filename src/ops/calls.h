// SPDX-License-Identifier: Apache-2.0
// The ops as functions, for models: `Tensor h = rms_norm(x, gain, 1e-5);`.
#pragma once

#include "ir/builder.h"
#include "ir/op_list.h"

namespace tessera {

inline Tensor call_one(OpKind op, std::vector<Tensor> operands, EmitOptions options = {}) {
  BlockBuilder& block = *operands.front().block;
  return block.emit(op, std::move(operands), std::move(options)).front();
}

// Contracts every dim that both share; free dims of x, then of w, remain.
inline Tensor matmul(Tensor x, Tensor w) { return call_one(OpKind::matmul, {x, w}); }
inline Tensor bias_add(Tensor x, Tensor bias) { return call_one(OpKind::bias_add, {x, bias}); }
inline Tensor add(Tensor x, Tensor y) { return call_one(OpKind::add, {x, y}); }
inline Tensor relu(Tensor x) { return call_one(OpKind::relu, {x}); }
inline Tensor gelu(Tensor x, const char* approximation = "none") {
  return call_one(OpKind::gelu, {x}, {.attributes = {{"approximation", approximation}}});
}
inline Tensor swiglu(Tensor gate_up) { return call_one(OpKind::swiglu, {gate_up}); }
inline Tensor layer_norm(Tensor x, Tensor gain, Tensor bias, double epsilon) {
  return call_one(OpKind::layer_norm, {x, gain, bias}, {.attributes = {{"epsilon", epsilon}}});
}
inline Tensor rms_norm(Tensor x, Tensor gain, double epsilon) {
  return call_one(OpKind::rms_norm, {x, gain}, {.attributes = {{"epsilon", epsilon}}});
}
inline Tensor rope(Tensor x, Tensor positions, Attributes attributes) {
  return call_one(OpKind::rope, {x, positions}, {.attributes = std::move(attributes)});
}
inline Tensor embedding(Tensor table, Tensor index) {
  return call_one(OpKind::embedding, {table, index});
}
inline Tensor take_position(Tensor x, Tensor index) {
  return call_one(OpKind::take_position, {x, index});
}
inline Tensor attention(Tensor q, Tensor k, Tensor v, Tensor positions, Tensor document) {
  return call_one(OpKind::attention, {q, k, v, positions, document});
}

// In the accumulator's dtype: fp32 of bf16.
inline Tensor matmul_accumulated(Tensor x, Tensor w) {
  const DType dtype = accumulator_of(x.type().dtype);
  return call_one(OpKind::matmul, {x, w}, {.attributes = {{"dtype", std::string(name(dtype))}}});
}

// A mixture of experts: where tokens go, and where their rows lie in the experts' pool.
struct Routes {
  Tensor gates, chosen, place, source, ends;
};
// A bias takes part in the choice alone; without a block there is none.
inline Routes route(Tensor logits, Attributes attributes, Tensor bias = {}) {
  BlockBuilder& block = *logits.block;
  const int64_t experts = logits.dims().back().size;
  std::vector<Tensor> operands{logits};
  if (bias.block) operands.push_back(bias);
  const std::vector<Tensor> routed =
      block.emit(OpKind::route, std::move(operands), {.attributes = std::move(attributes)});
  const int64_t rows = routed[1].type().num_elements();
  const std::vector<Tensor> ordered =
      block.emit(OpKind::order_routes, {routed[1]},
                 {.attributes = {{"experts", experts}, {"slots", (rows + experts - 1) / experts}}});
  return {routed[0], routed[1], ordered[0], ordered[1], ordered[2]};
}
// The rows of tokens in the pool, and their gates.
inline std::pair<Tensor, Tensor> dispatch(Tensor x, const Routes& routes) {
  const std::vector<Tensor> results = x.block->emit(
      OpKind::dispatch, {x, routes.chosen, routes.place, routes.source, routes.gates});
  return {results[0], results[1]};
}
inline Tensor expert_matmul(Tensor rows, Tensor w, const Routes& routes) {
  return call_one(OpKind::expert_matmul, {rows, w, routes.ends});
}
inline Tensor expert_swiglu(Tensor h, Tensor gate_rows, const Routes& routes) {
  return call_one(OpKind::expert_swiglu, {h, gate_rows, routes.ends});
}
inline Tensor combine(Tensor y, const Routes& routes) {
  return call_one(OpKind::combine, {y, routes.chosen, routes.place, routes.source});
}

// Losses of a router, added to the step value; label_count is that of the model's loss.
inline Tensor balance_loss(Tensor logits, Tensor chosen, Attributes count, Attributes loss) {
  const Tensor counts = call_one(OpKind::count_routes, {chosen}, {.attributes = std::move(count)});
  return call_one(OpKind::balance_loss, {logits, counts, logits.block->step("label_count")},
                  {.attributes = std::move(loss)});
}
inline Tensor router_z_loss(Tensor logits, double coefficient) {
  return call_one(OpKind::router_z_loss, {logits, logits.block->step("label_count")},
                  {.attributes = {{"coefficient", coefficient}}});
}

// Counts the step's labels before it starts, over all microbatches; the losses divide by it.
inline Tensor label_count(Tensor labels) {
  labels.block->returns_step("label_count",
                             call_one(OpKind::count_labels, {labels}, {.phase = Phase::Begin}));
  return labels.block->step("label_count");
}
inline Tensor squared_loss(Tensor prediction, Tensor target) {
  return call_one(OpKind::squared_loss, {prediction, target, label_count(target)});
}
// Mean cross-entropy of x . table^T over labels that are not negative; the full logits never exist.
inline Tensor output_loss(Tensor x, Tensor table, Tensor labels) {
  return call_one(OpKind::output_loss, {x, table, labels, label_count(labels)});
}

}  // namespace tessera
