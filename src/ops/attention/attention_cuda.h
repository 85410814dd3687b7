// SPDX-License-Identifier: Apache-2.0
// The workspace of attention's kernels on tensor cores.
#pragma once

#include "exec/cuda/cuda_call.h"
#include "ops/attention/attention.h"

namespace tessera {

inline constexpr int kTile =
    64;  // vectors of the others that a block on tensor cores takes at once

// By batch and every kTile tokens the ranges of four numbers, for queries and for keys.
inline int64_t tile_ranges_bytes(const AttentionSizes& s) {
  return 2 * s.batch * num_blocks(s.seq, kTile) * 4 * size_bytes(DType::Int32);
}
// And two numbers by row.
inline int64_t tensor_attention_workspace_bytes(const AttentionSizes& s) {
  return tile_ranges_bytes(s) + 2 * s.batch * s.kv_heads * s.rows() * size_bytes(DType::Fp32);
}

}  // namespace tessera
