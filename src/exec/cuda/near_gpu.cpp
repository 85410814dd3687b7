// SPDX-License-Identifier: Apache-2.0
#include "exec/cuda/near_gpu.h"

#include <cuda_runtime.h>
#include <fmt/format.h>
#include <linux/mempolicy.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cctype>
#include <fstream>
#include <string>

namespace tessera {
namespace {

constexpr int kMostNodes = 1024, kBitsOfWord = 64;

// -1: not known, or there is one node.
int node_of_gpu() {
  int device = 0;
  std::array<char, 32> id{};
  if (cudaGetDevice(&device) != cudaSuccess ||
      cudaDeviceGetPCIBusId(id.data(), static_cast<int>(id.size()), device) != cudaSuccess)
    return -1;
  std::string name(id.data());
  for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  std::ifstream file(fmt::format("/sys/bus/pci/devices/{}/numa_node", name));
  int node = -1;
  file >> node;
  return file && node < kMostNodes ? node : -1;
}

}  // namespace

NearGpu::NearGpu() {
  const int node = node_of_gpu();
  if (node < 0) return;
  std::array<unsigned long, kMostNodes / kBitsOfWord> nodes{};
  nodes[static_cast<size_t>(node / kBitsOfWord)] |= 1UL << (node % kBitsOfWord);
  bound_ = ::syscall(SYS_set_mempolicy, MPOL_PREFERRED, nodes.data(), kMostNodes) == 0;
}

NearGpu::~NearGpu() {
  if (bound_) ::syscall(SYS_set_mempolicy, MPOL_DEFAULT, nullptr, 0);
}

}  // namespace tessera
