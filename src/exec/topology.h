// SPDX-License-Identifier: Apache-2.0
// What a machine is made of, as the kernel and the drivers give it: NUMA nodes, GPUs and network
// cards, and how far two of them are from each other.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace tessera {

struct NumaNode {
  int number = 0;
  std::string cpus;  // "0-15,32-47"
  int64_t memory_bytes = 0;
  std::vector<int> distances;  // to each node, as the firmware weighs them; 10: itself
};

enum class BusDeviceKind : uint8_t { Gpu, NetworkCard };

struct MachineDevice {
  BusDeviceKind kind = BusDeviceKind::Gpu;
  std::string name;               // "GPU0", "eth0"
  std::string what;               // "NVIDIA H200", "mlx5_0, 200000 Mb/s"; empty: not known
  std::string address;            // "0000:1b:00.0"
  int node = -1;                  // -1: not known
  std::vector<std::string> path;  // from the root of the bus to the device, both included
};

// How two devices reach each other, the nearest first.
enum class DeviceLink : uint8_t { Itself, Nvlink, Switch, Switches, HostBridge, SameNode, Far };
std::string_view name(DeviceLink link);     // "NVLINK", "PIX", ...: nvidia-smi's words
std::string_view meaning(DeviceLink link);  // one line

struct Topology {
  std::vector<NumaNode> nodes;
  std::vector<MachineDevice> devices;
  std::vector<std::vector<DeviceLink>> links;  // by device, by device
};

// `sys` is where the kernel shows it.
Topology machine_topology(const std::filesystem::path& sys = "/sys");

}  // namespace tessera
