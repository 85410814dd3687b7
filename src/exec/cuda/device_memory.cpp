// SPDX-License-Identifier: Apache-2.0
#include "exec/cuda/device_memory.h"

#include "core/error.h"
#include "exec/cuda/near_gpu.h"
#include "exec/device.h"

namespace tessera {

void require_free_memory(int64_t bytes) {
  size_t free_bytes = 0, all_bytes = 0;
  check_cuda(cudaMemGetInfo(&free_bytes, &all_bytes), "ask for free memory");
  if (static_cast<size_t>(bytes) > free_bytes)
    throw DeviceMemoryError(bytes, static_cast<int64_t>(free_bytes),
                            static_cast<int64_t>(all_bytes));
}

DeviceMemory::DeviceMemory(int64_t bytes) { replace(bytes); }

void DeviceMemory::replace(int64_t bytes) {
  check_cuda(cudaFree(std::exchange(data_, nullptr)), "free GPU memory");
  bytes_ = bytes;
  if (bytes == 0) return;
  check_cuda(cudaMalloc(&data_, static_cast<size_t>(bytes)), "allocate GPU memory");
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

void PinnedMemory::replace(int64_t bytes) {
  check_cuda(cudaFreeHost(std::exchange(data_, nullptr)), "free pinned memory");
  bytes_ = bytes;
  if (bytes == 0) return;
  const NearGpu near;
  check_cuda(cudaMallocHost(&data_, static_cast<size_t>(bytes)), "allocate pinned memory");
}

}  // namespace tessera
