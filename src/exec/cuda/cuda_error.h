// SPDX-License-Identifier: Apache-2.0
// A call of the CUDA runtime or of cuBLASLt that failed: what was asked, and what the library says.
#pragma once

#include <cublasLt.h>
#include <cuda_runtime_api.h>

#include <stdexcept>
#include <string>

namespace tessera {

class CudaError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

inline void check_cuda(cudaError_t status, const char* what) {
  if (status != cudaSuccess) [[unlikely]]
    throw CudaError(std::string(what) + ": " + cudaGetErrorString(status));
}

inline void check_cublas(cublasStatus_t status, const char* what) {
  if (status != CUBLAS_STATUS_SUCCESS) [[unlikely]]
    throw CudaError(std::string(what) + ": " + cublasLtGetStatusString(status));
}

}  // namespace tessera
