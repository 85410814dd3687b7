// SPDX-License-Identifier: Apache-2.0
// attention(q, k, v, positions, document, key_positions, key_document): softmax(scale q k^T) v over
// the keys of the same document at the same or an earlier position; a row that sees none has o = 0,
// lse = -inf. Never holds more than a few rows of scores.
#include "ops/attention/attention.h"

#include "ir/op_list.h"
#include "ops/attention/ring_attention.h"

namespace tessera {

void require_attention_operands(const OpCall& call, size_t positions) {
  require_float(call, 0);
  const TensorType& q = call.operand(0);
  call.require(q.dims.size() == 5, "q must be [batch, seq, kv_heads, group, e], is {}",
               to_string(q));
  const TensorType k{q.dtype, {q.dims[0], q.dims[1], q.dims[2], q.dims[4]}};
  require_type(call, 1, k);
  const TensorType& v = call.operand(2);
  call.require(v.dims.size() == 4, "v must be [batch, seq, kv_heads, e], is {}", to_string(v));
  // Values may have a head size of their own; it then has a name of its own.
  const Dim& value_e = v.dims[3];
  call.require(value_e.name != q.dims[4].name || value_e.size == q.dims[4].size,
               "v has {} = {} where q has {}", value_e.name, value_e.size, q.dims[4].size);
  require_type(call, 2, {q.dtype, {q.dims[0], q.dims[1], q.dims[2], value_e}});
  const TensorType index{DType::Int32, {q.dims[0], q.dims[1]}};
  for (size_t i = positions; i < call.operands.size(); ++i) require_type(call, i, index);
  call.require(call.operands.size() != positions + 3,
               "key_positions is given without key_document");
}

TensorType lse_type(const TensorType& q) {
  return {accumulator_of(q.dtype), {q.dims.begin(), q.dims.end() - 1}};
}

TensorType attention_result_type(const TensorType& q, const TensorType& v) {
  TensorType o = q;
  o.dims[4] = v.dims[3];
  return o;
}

namespace {

AttentionSizes sizes_of(const OpCall& call) { return {call.operand(0), call.operand(2)}; }

std::vector<TensorType> infer_types(const OpCall& call) {
  require_attention_operands(call, 3);
  const TensorType& q = call.operand(0);
  return {attention_result_type(q, call.operand(2)), lse_type(q)};
}

void gradient(GradientBuilder& g) {
  TESSERA_CHECK(g.result_gradient(1) == kNone, "lse is only for the backward");
  std::vector<ValueId> operands{g.operand(0), g.operand(1),         g.operand(2), g.result(0),
                                g.result(1),  g.result_gradient(0), g.operand(3), g.operand(4)};
  if (g.operand(5) != kNone) operands.insert(operands.end(), {g.operand(5), g.operand(6)});
  const auto gradients = g.emit(0, OpKind::attention_grad, std::move(operands),
                                {{"scale", g.attributes().real("scale")}});
  for (size_t i = 0; i < 3; ++i) g.set(i, gradients[i]);
}

// Two matmuls, scores and values, over the pairs that a causal mask over one document leaves
// visible. A hop of zigzag ring attention also leaves half of all pairs.
Cost cost(const OpCall& call) {
  const AttentionSizes s = sizes_of(call);
  return cost_of(call, 2 * (s.e + s.value_e) * s.causal_pairs());
}

int64_t workspace_bytes(const OpCall& call, const DeviceProfile& profile) {
  const int64_t element_bytes = size_bytes(accumulator_of(call.operand(0).dtype));
  return AttentionScratch(sizes_of(call), element_bytes).bytes * profile.threads;
}

}  // namespace

const OpDef& attention_def() {
  static const OpDef def{
      .name = "attention",
      .summary =
          "softmax(scale q k^T) v over earlier keys of the same document, with grouped heads",
      .operands = {{"q"},
                   {"k"},
                   {"v"},
                   {"positions"},
                   {"document"},
                   {"key_positions", true},
                   {"key_document", true}},
      .results = {"o", "lse"},
      .attributes = {{"scale", 0.0}},
      .infer_types = infer_types,
      .gradient = gradient,
      .cost = cost,
      .workspace_bytes = workspace_bytes,
      .sharding = attention_sharding,
      .expand = ring_attention,
  };
  return def;
}

// attention_grad(q, k, v, o, lse, do, positions, document, key_positions, key_document): dq, dk,
// dv. Scores are recomputed from lse, block by block. o and lse may come from a softmax over more
// keys than these; rows with lse = -inf add nothing.
namespace {

std::vector<TensorType> infer_grad_types(const OpCall& call) {
  require_attention_operands(call, 6);
  const TensorType o = attention_result_type(call.operand(0), call.operand(2));
  require_type(call, 3, o);
  require_type(call, 4, lse_type(o));
  require_type(call, 5, o);
  return {call.operand(0), call.operand(1), call.operand(2)};
}

// Five matmuls over the visible pairs: q k^T, do v^T, and those for dq, dk, dv.
Cost grad_cost(const OpCall& call) {
  const AttentionSizes s = sizes_of(call);
  return cost_of(call, (6 * s.e + 4 * s.value_e) * s.causal_pairs());
}

int64_t grad_workspace_bytes(const OpCall& call, const DeviceProfile& profile) {
  const int64_t element_bytes = size_bytes(accumulator_of(call.operand(0).dtype));
  return AttentionGradScratch(sizes_of(call), element_bytes).bytes * profile.threads;
}

}  // namespace

const OpDef& attention_grad_def() {
  static const OpDef def{
      .name = "attention_grad",
      .summary = "the gradients of attention, from its results",
      .operands = {{"q"},
                   {"k"},
                   {"v"},
                   {"o"},
                   {"lse"},
                   {"do"},
                   {"positions"},
                   {"document"},
                   {"key_positions", true},
                   {"key_document", true}},
      .results = {"dq", "dk", "dv"},
      .attributes = {{"scale", 0.0}},
      .infer_types = infer_grad_types,
      .cost = grad_cost,
      .workspace_bytes = grad_workspace_bytes,
      .sharding = attention_sharding,
      .expand = ring_attention_grad,
  };
  return def;
}

}  // namespace tessera
