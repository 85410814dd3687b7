// SPDX-License-Identifier: Apache-2.0
// What expert_swiglu and its gradient share: h [expert, slot, gate_up=2, ...], and a gate for each
// row.
#pragma once

#include "ops/moe/pool.h"

namespace tessera {

// Checks h and gate_rows, operands 0 and 1, and ends, the last; gives the type of the result.
inline TensorType require_expert_swiglu(const OpCall& call) {
  const TensorType& h = call.operand(0);
  require_pool(call, 0);
  call.require(h.dims.size() >= 4 && h.dims[2] == Dim{"gate_up", 2},
               "h {} lacks gate_up=2 just inside the pool's dims", to_string(h));
  require_type(call, 1, {accumulator_of(h.dtype), {h.dims[0], h.dims[1]}});
  require_ends(call, call.operands.size() - 1, 0);
  TensorType a = h;
  a.dims.erase(a.dims.begin() + 2);
  return a;
}

// Gate and value must be on one rank.
inline ShardingRule expert_swiglu_sharding(const OpCall&) { return {.whole = {"gate_up"}}; }

}  // namespace tessera
