// SPDX-License-Identifier: Apache-2.0
#include "exec/cuda/device_memory.h"

#include "core/error.h"

namespace tessera {

DeviceMemory::DeviceMemory(int64_t bytes) : bytes_(bytes) {
  if (bytes == 0) return;
  const cudaError_t status = cudaMalloc(&data_, static_cast<size_t>(bytes));
  if (status == cudaErrorMemoryAllocation) {
    size_t free_bytes = 0, all_bytes = 0;
    cudaGetLastError();
    check_cuda(cudaMemGetInfo(&free_bytes, &all_bytes), "ask for free memory");
    throw user_error("the step needs {:.2f} GB of GPU memory, but {:.2f} GB of {:.2f} GB are free",
                     static_cast<double>(bytes) / 1e9, static_cast<double>(free_bytes) / 1e9,
                     static_cast<double>(all_bytes) / 1e9)
        .help("use a smaller batch, more microbatches or plan.recompute = \"fit\"");
  }
  check_cuda(status, "allocate GPU memory");
  check_cuda(cudaMemset(data_, 0, static_cast<size_t>(bytes)), "clear GPU memory");
  check_cuda(cudaStreamSynchronize(cudaStreamLegacy), "clear GPU memory");
}

void DeviceMemory::fill(std::span<const std::byte> bytes) const {
  TESSERA_CHECK(static_cast<int64_t>(bytes.size()) <= bytes_, "{} bytes into {}", bytes.size(),
                bytes_);
  check_cuda(cudaMemcpy(data_, bytes.data(), bytes.size(), cudaMemcpyHostToDevice),
             "copy to the GPU");
  check_cuda(cudaStreamSynchronize(cudaStreamLegacy), "copy to the GPU");
}

PinnedMemory::PinnedMemory(int64_t bytes) : bytes_(bytes) {
  if (bytes == 0) return;
  check_cuda(cudaMallocHost(&data_, static_cast<size_t>(bytes)), "allocate pinned memory");
}

}  // namespace tessera
