// SPDX-License-Identifier: Apache-2.0
// A sample call's CUDA kernel, run on copies of its tensors between guards in GPU memory.
#pragma once

#include "exec/cuda/attention_choice.h"
#include "ops/testing/sample_call.h"

namespace tessera {

// Whether attention's operands say that every query sees the keys up to its own.
bool is_plain_causal(const SampleCall& call);

// The results. Fails the running test where the kernel writes outside a buffer or into an operand.
// `threads` of the run means nothing here. Attention takes the given path, or else the fastest.
std::vector<HostTensor> run_on_gpu(const SampleCall& call, KernelRun run = {},
                                   std::optional<AttentionPath> path = {});

// Of a call of attention or of its gradient: the paths that it may take.
std::vector<AttentionPath> paths_of(const SampleCall& call);

}  // namespace tessera
