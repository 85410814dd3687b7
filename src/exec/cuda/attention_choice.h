// SPDX-License-Identifier: Apache-2.0
// Which implementation of attention, or of its gradient, a call takes: where several can do it, the
// one that was measured to be fastest for the shape. Choices are kept beside those of matmuls.
#pragma once

#include <functional>
#include <vector>

#include "exec/cuda/cuda_call.h"

namespace tessera {

enum class AttentionPath : int {
  Hopper,       // bf16, heads of 64, of 128, or of 192 elements whose values have 128, any mask
  Cudnn,        // bf16, heads of 64 or 128 elements, plain causal
  TensorCores,  // bf16, heads of 64 or 128 elements, any mask
  PlainCores
};

// Those that can do the call, whose bits repeat if they have to. The first is taken unless another
// is clearly faster. cuDNN's gradient is left out where it needs much more memory than ours.
std::vector<AttentionPath> attention_candidates(const CudaCall& call);

// What every candidate needs, whatever the batch.
int64_t attention_workspace_bytes(const OpCall& call, CausalAttention& attention);

// Enqueues the call by run(path). A shape is measured at its first call, on its own operands; where
// that call is recorded the first candidate is taken.
void run_fastest_attention(const CudaCall& call, const std::function<void(AttentionPath)>& run);

}  // namespace tessera
