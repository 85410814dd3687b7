// SPDX-License-Identifier: Apache-2.0
// What a CUDA kernel gets: buffers in GPU memory, and the stream to enqueue on. Kernels
// allocate nothing, wait for nothing and give the same bits on every run, unless told otherwise.
#pragma once

#include <optional>

#include "exec/bound_call.h"
#include "exec/cuda/cuda_error.h"
#include "ir/op_def.h"

namespace tessera {

class CausalAttention;
class MatrixProducts;
enum class AttentionPath : int;

struct CudaCall : BoundCall {  // its workspace: at least cuda_workspace_bytes()
  OpKind op;
  const Attributes& attributes;
  cudaStream_t stream;
  MatrixProducts& products;
  CausalAttention& attention;
  // Of attention: every query sees the keys up to its own, whatever positions and document say.
  bool plain_causal = false;
  bool repeatable = true;  // else sums may be added in any order
  // Of attention: the implementation, instead of the fastest.
  std::optional<AttentionPath> path = {};
};

using CudaKernel = void (*)(const CudaCall&);
bool has_cuda_kernel(OpKind op);
CudaKernel cuda_kernel(OpKind op);  // a UserError where there is none

// What a call's kernel needs, whatever the batch. An op whose kernel needs another workspace than
// the default says so beside it: int64_t <op>_cuda_workspace_bytes(const OpCall&,
// CausalAttention&).
int64_t cuda_workspace_bytes(const OpCall& call, CausalAttention& attention);
int64_t default_workspace_bytes(const OpCall& call);  // what the CPU's asks for with one thread

}  // namespace tessera
