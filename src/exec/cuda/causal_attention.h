// SPDX-License-Identifier: Apache-2.0
// Attention and its gradient by cuDNN, where every query sees the keys up to its own: bf16, heads
// of 64 or 128 elements, sequences of a multiple of 128. A shape's plan is made once, before a step
// runs; bits repeat.
#pragma once

#include <memory>

#include "ir/op_def.h"

namespace tessera {

struct CudaCall;

class CausalAttention {
 public:
  CausalAttention();
  ~CausalAttention();

  // Of a call of attention or attention_grad; makes its plan. 0 where cuDNN does not take it: why
  // is said once, on stderr, unless the shape alone rules it out.
  int64_t workspace_bytes(const OpCall& call);

  int64_t workspace_bytes(const CudaCall& call);  // 0 also where it is not plain causal
  void enqueue(const CudaCall& call);             // one that it takes

 private:
  class Plans;
  std::unique_ptr<Plans> plans_;
};

}  // namespace tessera
