// SPDX-License-Identifier: Apache-2.0
// Attention and its gradients on Hopper, for bf16 and heads of 64, of 128, or of 192 elements whose
// values have 128: any mask, any length, memory that grows with the length alone, and the same bits
// on every run.
#pragma once

#include "exec/cuda/cuda_call.h"
#include "ops/attention/attention.h"

namespace tessera {

// Of queries and values of these types, on the current device.
bool hopper_takes_attention(const TensorType& q, const TensorType& v, double scale);
int64_t hopper_attention_bytes(const AttentionSizes& sizes);  // of workspace
void enqueue_hopper_attention(const CudaCall& call);

bool hopper_takes_attention_grad(const TensorType& q, const TensorType& v);
int64_t hopper_attention_grad_bytes(const AttentionSizes& sizes);  // of workspace
void enqueue_hopper_attention_grad(const CudaCall& call);

}  // namespace tessera
