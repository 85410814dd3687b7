// SPDX-License-Identifier: Apache-2.0
// A pool holds the rows that tokens send to experts: [expert, slot, ...]. It is packed: the rows of
// expert e are [ends[e - 1], ends[e]) of the flattened (expert, slot) index, and what is after the
// last end is neither written nor read.
#pragma once

#include "ops/type_rules.h"

namespace tessera {

inline int64_t pool_rows(const TensorType& pool) { return pool.dims[0].size * pool.dims[1].size; }
inline int64_t row_size(const TensorType& pool) { return pool.num_elements() / pool_rows(pool); }

// The dims of a pool's rows, after expert and slot.
Dims row_dims(const TensorType& pool);

// Operand i is a pool of floats.
void require_pool(const OpCall& call, size_t i);
// Operand i is the ends of the pool in operand `pool`.
void require_ends(const OpCall& call, size_t i, size_t pool);
// Operands i to i + 2 are chosen and place of tokens, and the source of a pool's rows.
void require_routes(const OpCall& call, size_t i);

// Of an op that moves rows between tokens and a pool.
ShardingRule moving_sharding(const OpCall& call);

}  // namespace tessera
