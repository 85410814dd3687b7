// SPDX-License-Identifier: Apache-2.0
// The gradients of attention on Hopper, for bf16 and heads of 64 or 128 elements: any mask, any
// length, memory that grows with the length alone, and the same bits on every run.
#pragma once

#include "exec/cuda/cuda_call.h"
#include "ops/attention/attention.h"

namespace tessera {

// Of queries of this type, on the current device.
bool hopper_takes_attention_grad(const TensorType& q);
int64_t hopper_attention_grad_bytes(const AttentionSizes& sizes);  // of workspace
void enqueue_hopper_attention_grad(const CudaCall& call);

}  // namespace tessera
