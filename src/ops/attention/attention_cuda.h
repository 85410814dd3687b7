// SPDX-License-Identifier: Apache-2.0
// How attention and its gradient run on a GPU: four implementations, of which a call uses the
// first that supports it. Also the workspace of the kernels on tensor cores.
#pragma once

#include <algorithm>

#include "exec/cuda/causal_attention.h"
#include "exec/cuda/cuda_call.h"
#include "exec/cuda/hopper_attention.h"
#include "ir/op_list.h"
#include "ops/attention/attention.h"

namespace tessera {

enum class AttentionPath {
  Hopper,       // gradients in bf16, heads of 64 or 128 elements, any mask
  Cudnn,        // plain causal
  TensorCores,  // bf16, heads of 64 or 128 elements, any mask
  PlainCores
};

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

// Whichever way a call takes.
inline int64_t attention_workspace_bytes(const OpCall& call, CausalAttention& attention) {
  if (call.op == OpKind::attention_grad && hopper_takes_attention_grad(call.operand(0)))
    return std::max(default_workspace_bytes(call),
                    hopper_attention_grad_bytes(AttentionSizes(call.operand(0))));
  return std::max({default_workspace_bytes(call), attention.workspace_bytes(call),
                   tensor_attention_workspace_bytes(AttentionSizes(call.operand(0)))});
}

inline AttentionPath attention_path(const CudaCall& call) {
  const TensorType& q = *call.operand(0).type;
  if (call.op == OpKind::attention_grad && hopper_takes_attention_grad(q))
    return AttentionPath::Hopper;
  if (call.attention.takes(call)) return AttentionPath::Cudnn;
  const AttentionSizes s(q);
  // With more rows the list of tiles would not leave enough shared memory.
  const bool on_tensor_cores = q.dtype == DType::Bf16 && (s.e == 64 || s.e == 128) &&
                               s.rows() <= (1 << 19) && attention_scale(call.attributes, s.e) > 0;
  return on_tensor_cores ? AttentionPath::TensorCores : AttentionPath::PlainCores;
}

}  // namespace tessera
