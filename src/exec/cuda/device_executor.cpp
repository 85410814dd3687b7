// SPDX-License-Identifier: Apache-2.0
// What builds with CUDA do where they find a GPU, and say where they find none.
#include "exec/device_executor.h"

#include <algorithm>
#include <vector>

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

double measure_cuda_matmul_rate(DType dtype) {
  const int64_t size = dtype == DType::Bf16 ? 8192 : 4096;
  const int64_t bytes = size * size * size_bytes(dtype);
  constexpr int kRounds = 5, kProducts = 4;
  const DeviceMemory operands(3 * bytes);
  // Zeros would be faster than data is: bytes of all kinds, with small exponents.
  std::vector<uint8_t> pattern(static_cast<size_t>(2 * bytes));
  const auto width = static_cast<size_t>(size_bytes(dtype));
  for (size_t i = 0; i < pattern.size(); ++i)
    pattern[i] = i % width == width - 1 ? (i / width * 2654435761u >> 31 & 1 ? 0xbd : 0x3d)
                                        : static_cast<uint8_t>(i * 2654435761u >> 13);
  operands.fill(std::as_bytes(std::span(pattern)));
  MatrixProducts products;
  const DeviceStream stream;
  const DeviceProduct product{.m = size,
                              .n = size,
                              .k = size,
                              .dtype = dtype,
                              .result_dtype = dtype,
                              .a = {operands.data(), size},
                              .b = {operands.data() + bytes, size},
                              .c = operands.data() + 2 * bytes,
                              .c_stride = size};
  DeviceTimer timer;
  products.enqueue(product, stream.get());
  double best = 0;
  for (int round = 0; round < kRounds; ++round) {
    timer.begin(stream);
    for (int i = 0; i < kProducts; ++i) products.enqueue(product, stream.get());
    timer.end(stream);
    const double flops = 2.0 * static_cast<double>(size * size) * static_cast<double>(size);
    best = std::max(best, kProducts * flops / timer.seconds());
  }
  return best;
}

}  // namespace tessera
