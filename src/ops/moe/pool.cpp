// SPDX-License-Identifier: Apache-2.0
#include "ops/moe/pool.h"

namespace tessera {

Dims row_dims(const TensorType& pool) { return {pool.dims.begin() + 2, pool.dims.end()}; }

void require_pool(const OpCall& call, size_t i) {
  require_float(call, i);
  call.require(call.operand(i).dims.size() >= 2, "{} {} has no dims of experts and slots",
               operand_name(call, i), to_string(call.operand(i)));
}

void require_ends(const OpCall& call, size_t i, size_t pool) {
  require_type(call, i, {DType::Int32, {call.operand(pool).dims[0]}});
}

void require_routes(const OpCall& call, size_t i) {
  const TensorType &chosen = call.operand(i), &source = call.operand(i + 2);
  call.require(chosen.dtype == DType::Int32 && chosen.dims.size() >= 2,
               "chosen must be int32 with dims of tokens and choices, is {}", to_string(chosen));
  require_type(call, i + 1, chosen);
  call.require(source.dtype == DType::Int32 && source.dims.size() == 2,
               "source must be int32 of experts and slots, is {}", to_string(source));
}

ShardingRule moving_sharding(const OpCall&) { return {.free = true}; }

}  // namespace tessera
