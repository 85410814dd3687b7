// SPDX-License-Identifier: Apache-2.0
// What builds with CUDA do where they find a GPU, and say where they find none.
#include "exec/device_executor.h"

#include <algorithm>
#include <vector>

#include "exec/cuda/cuda_mesh.h"

namespace tessera {

bool built_with_cuda() { return true; }

std::string missing_gpu() {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status == cudaSuccess && count > 0) return "";
  cudaGetLastError();
  return fmt::format("no GPU is found: {}",
                     status == cudaSuccess ? "no device" : cudaGetErrorString(status));
}

void require_gpu() {
  if (const std::string why = missing_gpu(); !why.empty())
    throw user_error("{}", why).help("use --device cpu");
}

GpuFacts gpu_facts() {
  require_gpu();
  cudaDeviceProp properties{};
  int gpu = 0;
  check_cuda(cudaGetDevice(&gpu), "ask which GPU runs programs");
  check_cuda(cudaGetDeviceProperties(&properties, gpu), "ask what the GPU is");
  constexpr int kFirstWithFp8 = 89;
  return {.name = properties.name,
          .memory_bytes = static_cast<double>(properties.totalGlobalMem),
          .has_fp8 = 10 * properties.major + properties.minor >= kFirstWithFp8};
}

std::vector<GpuPlace> gpu_places() {
  std::vector<GpuPlace> places;
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess) count = 0;
  for (int gpu = 0; gpu < count; ++gpu) {
    cudaDeviceProp properties{};
    check_cuda(cudaGetDeviceProperties(&properties, gpu), "ask what a GPU is");
    places.push_back({properties.name, fmt::format("{:04x}:{:02x}:{:02x}.0", properties.pciDomainID,
                                                   properties.pciBusID, properties.pciDeviceID)});
  }
  // Only such links let one GPU change single words of the other.
  for (int from = 0; from < count; ++from)
    for (int to = 0; to < count; ++to) {
      int linked = 0;
      if (from != to &&
          cudaDeviceGetP2PAttribute(&linked, cudaDevP2PAttrNativeAtomicSupported, from, to) ==
              cudaSuccess &&
          linked != 0)
        places[static_cast<size_t>(from)].nvlinked.insert(places[static_cast<size_t>(to)].address);
    }
  cudaGetLastError();
  return places;
}

int64_t gpu_bytes_in_use() {
  require_gpu();
  size_t free = 0, all = 0;
  check_cuda(cudaMemGetInfo(&free, &all), "ask for the GPU's memory");
  return static_cast<int64_t>(all - free);
}

GpuMemoryError::GpuMemoryError(int64_t needed, int64_t free, int64_t all)
    : UserError(
          fmt::format("the step needs {:.2f} GB of GPU memory, but {:.2f} GB of {:.2f} GB are free",
                      static_cast<double>(needed) / 1e9, static_cast<double>(free) / 1e9,
                      static_cast<double>(all) / 1e9)),
      free_bytes_(free) {}

int64_t cuda_bytes(std::span<const Program> programs) {
  CausalAttention attention;
  int64_t bytes = 0;
  for (int rank = 0; rank < programs.front().mesh.num_ranks(); ++rank)
    bytes += CudaExecutor::device_bytes(at_place(programs, rank), attention);
  return bytes;
}

std::unique_ptr<Executor> make_cuda_executor(std::vector<Program> programs,
                                             CudaExecutorOptions options) {
  require_gpu();
  if (programs.front().mesh.num_ranks() > 1) return make_cuda_mesh(programs, std::move(options));
  return std::make_unique<CudaExecutor>(std::move(programs.front()), std::move(options));
}

std::unique_ptr<LocalMesh> make_cuda_mesh(const std::vector<Program>& programs,
                                          CudaExecutorOptions options) {
  require_gpu();
  require_free_memory(cuda_bytes(programs));
  return std::make_unique<CudaMesh>(programs, std::move(options));
}

}  // namespace tessera
