// SPDX-License-Identifier: Apache-2.0
// The ops as functions, for models: `Tensor h = rms_norm(x, gain, 1e-5);`. The line of the call is
// that of its node.
#pragma once

#include "ir/builder.h"
#include "ir/op_list.h"

namespace tessera {

inline Tensor call_one(SourceLine at, OpKind op, std::vector<Tensor> operands,
                       EmitOptions options = {}) {
  BlockBuilder& block = *operands.front().block;
  return block.emit(op, std::move(operands), std::move(options), at).front();
}

// Contracts every dim that both share; free dims of x, then of w, remain.
inline Tensor matmul(Tensor x, Tensor w, SourceLine at = SourceLine::here()) {
  return call_one(at, OpKind::matmul, {x, w});
}
inline Tensor bias_add(Tensor x, Tensor bias, SourceLine at = SourceLine::here()) {
  return call_one(at, OpKind::bias_add, {x, bias});
}
inline Tensor add(Tensor x, Tensor y, SourceLine at = SourceLine::here()) {
  return call_one(at, OpKind::add, {x, y});
}
inline Tensor relu(Tensor x, SourceLine at = SourceLine::here()) {
  return call_one(at, OpKind::relu, {x});
}
inline Tensor gelu(Tensor x, const char* approximation = "none",
                   SourceLine at = SourceLine::here()) {
  return call_one(at, OpKind::gelu, {x}, {.attributes = {{"approximation", approximation}}});
}
inline Tensor swiglu(Tensor gate_up, SourceLine at = SourceLine::here()) {
  return call_one(at, OpKind::swiglu, {gate_up});
}
inline Tensor layer_norm(Tensor x, Tensor gain, Tensor bias, double epsilon,
                         SourceLine at = SourceLine::here()) {
  return call_one(at, OpKind::layer_norm, {x, gain, bias}, {.attributes = {{"epsilon", epsilon}}});
}
inline Tensor rms_norm(Tensor x, Tensor gain, double epsilon, SourceLine at = SourceLine::here()) {
  return call_one(at, OpKind::rms_norm, {x, gain}, {.attributes = {{"epsilon", epsilon}}});
}
inline Tensor rope(Tensor x, Tensor positions, Attributes attributes,
                   SourceLine at = SourceLine::here()) {
  return call_one(at, OpKind::rope, {x, positions}, {.attributes = std::move(attributes)});
}
inline Tensor embedding(Tensor table, Tensor index, SourceLine at = SourceLine::here()) {
  return call_one(at, OpKind::embedding, {table, index});
}
inline Tensor take_position(Tensor x, Tensor index, SourceLine at = SourceLine::here()) {
  return call_one(at, OpKind::take_position, {x, index});
}
// Beside each other along the innermost dim, which is then `dim`; y is repeated where it lacks dims
// of x.
inline Tensor concat(Tensor x, Tensor y, const char* dim, SourceLine at = SourceLine::here()) {
  return call_one(at, OpKind::concat, {x, y}, {.attributes = {{"dim", dim}}});
}
// A scale of 0 is one over the root of q's head size.
inline Tensor attention(Tensor q, Tensor k, Tensor v, Tensor positions, Tensor document,
                        double scale = 0, SourceLine at = SourceLine::here()) {
  const Attributes own{{"scale", scale}};
  return call_one(at, OpKind::attention, {q, k, v, positions, document},
                  {.attributes = scale == 0 ? Attributes() : own});
}

// Over the cached keys up to each query's position; a scale of 0 as above.
inline Tensor cached_attention(Tensor q, Tensor keys, Tensor values, Tensor positions,
                               double scale = 0, SourceLine at = SourceLine::here()) {
  const Attributes own{{"scale", scale}};
  return call_one(at, OpKind::cached_attention, {q, keys, values, positions},
                  {.attributes = scale == 0 ? Attributes() : own});
}
inline Tensor write_cache(Tensor cache, Tensor rows, Tensor positions,
                          SourceLine at = SourceLine::here()) {
  return call_one(at, OpKind::write_cache, {cache, rows, positions});
}

// In the accumulator's dtype: fp32 of bf16.
inline Tensor matmul_accumulated(Tensor x, Tensor w, SourceLine at = SourceLine::here()) {
  const DType dtype = accumulator_of(x.type().dtype);
  return call_one(at, OpKind::matmul, {x, w},
                  {.attributes = {{"dtype", std::string(name(dtype))}}});
}

// A mixture of experts: where tokens go, and where their rows lie in the experts' pool.
struct Routes {
  Tensor gates, chosen, place, source, ends;
};
// A bias takes part in the choice alone; without a block there is none.
inline Routes route(Tensor logits, Attributes attributes, Tensor bias = {},
                    SourceLine at = SourceLine::here()) {
  BlockBuilder& block = *logits.block;
  const int64_t experts = logits.dims().back().size;
  std::vector<Tensor> operands{logits};
  if (bias.block) operands.push_back(bias);
  const std::vector<Tensor> routed =
      block.emit(OpKind::route, std::move(operands), {.attributes = std::move(attributes)}, at);
  const int64_t rows = routed[1].type().num_elements();
  const std::vector<Tensor> ordered = block.emit(
      OpKind::order_routes, {routed[1]},
      {.attributes = {{"experts", experts}, {"slots", (rows + experts - 1) / experts}}}, at);
  return {routed[0], routed[1], ordered[0], ordered[1], ordered[2]};
}
// The rows of tokens in the pool, and their gates.
inline std::pair<Tensor, Tensor> dispatch(Tensor x, const Routes& routes,
                                          SourceLine at = SourceLine::here()) {
  const std::vector<Tensor> results = x.block->emit(
      OpKind::dispatch, {x, routes.chosen, routes.place, routes.source, routes.gates}, {}, at);
  return {results[0], results[1]};
}
inline Tensor expert_matmul(Tensor rows, Tensor w, const Routes& routes,
                            SourceLine at = SourceLine::here()) {
  return call_one(at, OpKind::expert_matmul, {rows, w, routes.ends});
}
inline Tensor expert_swiglu(Tensor h, Tensor gate_rows, const Routes& routes,
                            SourceLine at = SourceLine::here()) {
  return call_one(at, OpKind::expert_swiglu, {h, gate_rows, routes.ends});
}
inline Tensor combine(Tensor y, const Routes& routes, SourceLine at = SourceLine::here()) {
  return call_one(at, OpKind::combine, {y, routes.chosen, routes.place, routes.source});
}

// Losses of a router, added to the step value; label_count is that of the model's loss.
inline Tensor balance_loss(Tensor logits, Tensor chosen, Attributes count, Attributes loss,
                           SourceLine at = SourceLine::here()) {
  const Tensor counts =
      call_one(at, OpKind::count_routes, {chosen}, {.attributes = std::move(count)});
  return call_one(at, OpKind::balance_loss, {logits, counts, logits.block->step("label_count", at)},
                  {.attributes = std::move(loss)});
}
inline Tensor router_z_loss(Tensor logits, double coefficient, SourceLine at = SourceLine::here()) {
  return call_one(at, OpKind::router_z_loss, {logits, logits.block->step("label_count", at)},
                  {.attributes = {{"coefficient", coefficient}}});
}

// Counts the step's labels before it starts, over all microbatches; the losses divide by it.
inline Tensor label_count(Tensor labels, SourceLine at = SourceLine::here()) {
  labels.block->returns_step("label_count",
                             call_one(at, OpKind::count_labels, {labels}, {.phase = Phase::Begin}));
  return labels.block->step("label_count", at);
}
inline Tensor squared_loss(Tensor prediction, Tensor target, SourceLine at = SourceLine::here()) {
  return call_one(at, OpKind::squared_loss, {prediction, target, label_count(target, at)});
}
// Mean cross-entropy of x . table^T over labels that are not negative; the full logits never exist.
inline Tensor output_loss(Tensor x, Tensor table, Tensor labels,
                          SourceLine at = SourceLine::here()) {
  return call_one(at, OpKind::output_loss, {x, table, labels, label_count(labels, at)});
}

}  // namespace tessera
