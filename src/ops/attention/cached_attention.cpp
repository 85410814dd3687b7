// SPDX-License-Identifier: Apache-2.0
// cached_attention(q, keys, values, positions): softmax(scale q k^T) v over the cached keys up to
// each query's own position. For generation: few queries, many keys, no gradient.
#include "ops/attention/attention.h"

namespace tessera {
namespace {

std::vector<TensorType> infer_types(const OpCall& call) {
  require_float(call, 0);
  const TensorType &q = call.operand(0), &keys = call.operand(1), &values = call.operand(2);
  call.require(q.dims.size() == 5, "q must be [batch, seq, kv_heads, group, e], is {}",
               to_string(q));
  call.require(keys.dims.size() == 4 && values.dims.size() == 4,
               "keys and values must be [batch, cached, kv_heads, e], are {} and {}",
               to_string(keys), to_string(values));
  require_type(call, 1, {q.dtype, {q.dims[0], keys.dims[1], q.dims[2], q.dims[4]}});
  require_type(call, 2, {q.dtype, {q.dims[0], keys.dims[1], q.dims[2], values.dims[3]}});
  require_type(call, 3, {DType::Int32, {q.dims[0], q.dims[1]}});
  return {attention_result_type(q, values)};
}

// As if every query saw the whole cache: positions are known only when it runs.
Cost cost(const OpCall& call) {
  const AttentionSizes s(call.operand(0), call.operand(2));
  const int64_t pairs = s.batch * s.kv_heads * s.rows() * call.operand(1).dims[1].size;
  return cost_of(call, 2 * (s.e + s.value_e) * pairs);
}

int64_t workspace_bytes(const OpCall& call, const DeviceProfile& profile) {
  const AttentionSizes s(call.operand(0), call.operand(2));
  const CachedScratch scratch(s, call.operand(1).dims[1].size,
                              size_bytes(accumulator_of(call.operand(0).dtype)));
  return scratch.bytes * profile.threads;
}

ShardingRule sharding(const OpCall& call) {
  return {.whole = {call.operand(0).dims[4].name, call.operand(1).dims[1].name,
                    call.operand(2).dims[3].name}};
}

}  // namespace

const OpDef& cached_attention_def() {
  static const OpDef def{
      .name = "cached_attention",
      .summary = "softmax(scale q k^T) v over cached keys up to each query's position",
      .operands = {{"q"}, {"keys"}, {"values"}, {"positions"}},
      .results = {"o"},
      .attributes = {{"scale", 0.0}},
      .infer_types = infer_types,
      .cost = cost,
      .workspace_bytes = workspace_bytes,
      .sharding = sharding,
  };
  return def;
}

}  // namespace tessera
