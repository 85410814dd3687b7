// SPDX-License-Identifier: Apache-2.0
// The cross-entropy over a vocabulary of which every rank holds a shard, as four ops: output_stats,
// the maximum over the shards, shared_stats, the sum over the shards, and then sharded_loss or
// sharded_loss_grad. Rows whose label is ignored have stats of 0 throughout.
#pragma once

#include "ops/loss/output_loss.h"

namespace tessera {

// One number per row of x.
inline TensorType row_stat_type(const TensorType& x) {
  return {accumulator_of(x.dtype), {x.dims[0], x.dims[1]}};
}

// stat 0: the sum of exp(logit - all_max); stat 1: the logit of the label.
inline TensorType shared_stats_type(TensorType row_stat) {
  row_stat.dims.insert(row_stat.dims.begin(), {"stat", 2});
  return row_stat;
}

// Operand `i` is a row stat that decides the type of others.
inline void require_row_stat(const OpCall& call, size_t i) {
  require_float(call, i);
  const TensorType& type = call.operand(i);
  call.require(type.dims.size() == 2 && type.dtype == accumulator_of(type.dtype),
               "{} must be fp32 or fp64 [batch, seq], is {}", operand_name(call, i),
               to_string(type));
}

// x, table and labels as for output_loss; `shard` as given; the true number of classes.
inline void require_sharded_logit_operands(const OpCall& call, size_t shard) {
  require_logit_operands(call);
  require_type(call, shard, scalar(DType::Int32));
  const int64_t vocabulary = call.attributes.integer("vocabulary");
  call.require(vocabulary > 0, "vocabulary = {} must be positive", vocabulary);
}

// A shard of the vocabulary is not split again; rows may be.
inline ShardingRule sharded_logits_sharding(const OpCall& call) {
  const Dims& table = call.operand(1).dims;
  return {.whole = {table[0].name, table[1].name, "stat"}};
}

inline ShardingRule shared_stats_sharding(const OpCall& /*call*/) { return {.whole = {"stat"}}; }

}  // namespace tessera
