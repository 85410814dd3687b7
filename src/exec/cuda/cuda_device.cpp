// SPDX-License-Identifier: Apache-2.0
#include "exec/cuda/cuda_device.h"

#include <algorithm>
#include <vector>

#include "exec/cuda/cuda_mesh.h"
#include "exec/cuda/energy_counter.h"

namespace tessera {

const Device* cuda_device() {
  static const CudaDevice device;
  return &device;
}

std::string CudaDevice::why_missing() const {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status == cudaSuccess && count > 0) return "";
  cudaGetLastError();
  return fmt::format("no GPU is found: {}",
                     status == cudaSuccess ? "no device" : cudaGetErrorString(status));
}

DeviceFacts CudaDevice::facts() const {
  require_device(DeviceKind::Cuda);
  cudaDeviceProp properties{};
  int gpu = 0;
  check_cuda(cudaGetDevice(&gpu), "ask which GPU runs programs");
  check_cuda(cudaGetDeviceProperties(&properties, gpu), "ask what the GPU is");
  constexpr int kFirstWithFp8 = 89;
  return {.name = properties.name,
          .memory_bytes = static_cast<double>(properties.totalGlobalMem),
          .has_fp8 = 10 * properties.major + properties.minor >= kFirstWithFp8};
}

std::vector<DevicePlace> CudaDevice::places() const {
  std::vector<DevicePlace> places;
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

int64_t CudaDevice::bytes_in_use() const {
  require_device(DeviceKind::Cuda);
  size_t free = 0, all = 0;
  check_cuda(cudaMemGetInfo(&free, &all), "ask for the GPU's memory");
  return static_cast<int64_t>(all - free);
}

std::optional<double> CudaDevice::joules() const {
  static const EnergyCounter counter([] {
    char address[32] = "";
    int gpu = 0;
    check_cuda(cudaGetDevice(&gpu), "ask which GPU runs programs");
    check_cuda(cudaDeviceGetPCIBusId(address, sizeof address, gpu), "ask where the GPU is");
    return std::string(address);
  }());
  return counter.joules();
}

int64_t CudaDevice::bytes_of(std::span<const Program> programs) const {
  CausalAttention attention;
  int64_t bytes = 0;
  for (int rank = 0; rank < programs.front().mesh.num_ranks(); ++rank)
    bytes += CudaExecutor::device_bytes(at_place(programs, rank), attention);
  return bytes;
}

std::unique_ptr<Executor> CudaDevice::make_executor(std::vector<Program> programs,
                                                    ExecutorOptions options) const {
  require_device(DeviceKind::Cuda);
  if (programs.front().mesh.num_ranks() > 1)
    return make_mesh(std::move(programs), std::move(options));
  return std::make_unique<CudaExecutor>(std::move(programs.front()), std::move(options));
}

std::unique_ptr<LocalMesh> CudaDevice::make_mesh(std::vector<Program> programs,
                                                 ExecutorOptions options) const {
  require_device(DeviceKind::Cuda);
  require_free_memory(bytes_of(programs));
  return std::make_unique<CudaMesh>(programs, std::move(options));
}

}  // namespace tessera
