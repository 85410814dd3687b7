// SPDX-License-Identifier: Apache-2.0
// What builds with CUDA do where they find a GPU, and say where they find none.
#include "exec/device_executor.h"

#include "exec/cuda/cuda_executor.h"

namespace tessera {

std::vector<std::string_view> device_names() { return {"cpu", "cuda"}; }

std::string missing_gpu() {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status == cudaSuccess && count > 0) return "";
  cudaGetLastError();
  return fmt::format("no GPU is found: {}",
                     status == cudaSuccess ? "no device" : cudaGetErrorString(status));
}

namespace {

void require_gpu() {
  if (const std::string why = missing_gpu(); !why.empty())
    throw user_error("{}", why).help("use --device cpu");
}

}  // namespace

GpuFacts gpu_facts() {
  require_gpu();
  cudaDeviceProp properties{};
  check_cuda(cudaGetDeviceProperties(&properties, 0), "ask what the GPU is");
  return {properties.name, static_cast<double>(properties.totalGlobalMem)};
}

int64_t gpu_bytes_in_use() {
  require_gpu();
  size_t free = 0, all = 0;
  check_cuda(cudaMemGetInfo(&free, &all), "ask for the GPU's memory");
  return static_cast<int64_t>(all - free);
}

std::unique_ptr<Executor> make_cuda_executor(Program program, CudaExecutorOptions options) {
  require_gpu();
  if (program.mesh.num_ranks() > 1)
    throw user_error("the mesh has {} ranks, but a GPU runs one", program.mesh.num_ranks())
        .help("leave out the mesh, or use --device cpu");
  return std::make_unique<CudaExecutor>(std::move(program), options);
}

}  // namespace tessera
