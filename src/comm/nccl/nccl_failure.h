// SPDX-License-Identifier: Apache-2.0
// A call of the CUDA runtime on NCCL's behalf that failed. NCCL's own failures are PeerErrors that
// the group words: it knows the collective and the peers.
#pragma once

#include <cuda_runtime_api.h>

#include <stdexcept>
#include <string>

namespace tessera {

inline void check_runtime(cudaError_t status, const char* what) {
  if (status != cudaSuccess) [[unlikely]]
    throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(status));
}

}  // namespace tessera
