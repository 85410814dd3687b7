// SPDX-License-Identifier: Apache-2.0
// Measures which of several ways to do the same thing is the fastest on the GPU.
#pragma once

#include <functional>

#include "exec/cuda/device_memory.h"

namespace tessera {

// `run(i)` enqueues way i and says whether it could. Way 0 is kept unless another is clearly
// faster; kNoWay where none could run. Waits for the stream, which must not be recording.
constexpr int kNoWay = -1;
int fastest_way(int ways, cudaStream_t stream, const std::function<bool(int)>& run);

}  // namespace tessera
