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
