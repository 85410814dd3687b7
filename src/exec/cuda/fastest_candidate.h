// SPDX-License-Identifier: Apache-2.0
// Measures which of several implementations of the same work is the fastest on the GPU.
#pragma once

#include <functional>

#include "exec/cuda/device_memory.h"

namespace tessera {

// `run(i)` enqueues candidate i and returns whether it could. Candidate 0 is kept unless another is
// clearly faster; kNoCandidate if none could run. Waits for the stream, which must not be
// recording.
constexpr int kNoCandidate = -1;
int fastest_candidate(int candidates, cudaStream_t stream, const std::function<bool(int)>& run);

}  // namespace tessera
