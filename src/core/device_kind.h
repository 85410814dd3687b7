// SPDX-License-Identifier: Apache-2.0
// The kinds of devices that programs run on, as configs name them; exec/device.h says what each can
// do.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tessera {

enum class DeviceKind : uint8_t { Cpu, Cuda };

inline constexpr std::array<std::string_view, 2> kDeviceNames{"cpu", "cuda"};  // by kind

constexpr std::string_view name(DeviceKind kind) { return kDeviceNames[static_cast<size_t>(kind)]; }

// Ranks share this machine's cores and its memory; elsewhere they have those of the device.
constexpr bool is_host(DeviceKind kind) { return kind == DeviceKind::Cpu; }

// What a pass may know about a device.
struct DeviceProfile {
  int threads =
      1;  // worker threads of one rank; affect the size of kernels' workspaces, never their results
  int64_t memory_bytes = 0;         // of one rank; 0: not known
  double flops_per_byte = 10;       // that take as long as moving one byte: for the cost of a block
  double flops_per_host_byte = 20;  // the same, over the link to the host's memory
};

// Of bf16 products on an H200, and of its link of 55 GB/s; the memory of a CPU's ranks is the
// host's.
constexpr double flops_per_host_byte(DeviceKind kind) {
  return is_host(kind) ? DeviceProfile{}.flops_per_host_byte : 14500;
}

}  // namespace tessera
