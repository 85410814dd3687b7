// SPDX-License-Identifier: Apache-2.0
#include "exec/topology.h"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <sstream>

#include "core/error.h"
#include "exec/device.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

std::string first_line(const fs::path& file) {
  std::ifstream stream(file);
  std::string line;
  std::getline(stream, line);
  return line;
}

int whole_number(const std::string& text, int fallback) {
  std::istringstream stream(text);
  int number = fallback;
  return stream >> number ? number : fallback;
}

// In the order of their names, which differs from the kernel's.
std::vector<fs::path> entries(const fs::path& folder) {
  std::vector<fs::path> all;
  std::error_code none;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, none))
    all.push_back(entry.path());
  std::sort(all.begin(), all.end());
  return all;
}

int64_t node_memory(const fs::path& file) {
  std::ifstream stream(file);
  std::string line;
  while (std::getline(stream, line)) {
    const size_t at = line.find("MemTotal:");
    if (at == std::string::npos) continue;
    return static_cast<int64_t>(whole_number(line.substr(at + 9), 0)) * 1024;
  }
  return 0;
}

std::vector<NumaNode> numa_nodes(const fs::path& sys) {
  std::vector<NumaNode> nodes;
  for (const fs::path& folder : entries(sys / "devices/system/node")) {
    const std::string name = folder.filename().string();
    if (!name.starts_with("node") || name.size() < 5 || std::isdigit(name[4]) == 0) continue;
    NumaNode node{.number = std::stoi(name.substr(4)),
                  .cpus = first_line(folder / "cpulist"),
                  .memory_bytes = node_memory(folder / "meminfo"),
                  .distances = {}};
    std::istringstream distances(first_line(folder / "distance"));
    for (int distance = 0; distances >> distance;) node.distances.push_back(distance);
    nodes.push_back(std::move(node));
  }
  std::sort(nodes.begin(), nodes.end(),
            [](const NumaNode& a, const NumaNode& b) { return a.number < b.number; });
  return nodes;
}

// "/sys/devices/pci0000:16/0000:16:01.0/0000:17:00.0" -> the last three.
std::vector<std::string> bus_path(const fs::path& device) {
  std::vector<std::string> path;
  for (const fs::path& part : device)
    if (part.string().starts_with("pci") ||
        (!path.empty() && part.string().find(':') != std::string::npos))
      path.push_back(part.string());
  return path;
}

MachineDevice device_at(BusDeviceKind kind, const fs::path& folder) {
  std::error_code none;
  const fs::path real = fs::canonical(folder, none);
  MachineDevice device{.kind = kind, .name = {}, .what = {}, .address = {}, .path = bus_path(real)};
  if (!device.path.empty()) device.address = device.path.back();
  // A virtual card lies below the one on the bus, which knows its node.
  for (const fs::path& at : {real, real.parent_path()})
    if (device.node < 0) device.node = whole_number(first_line(at / "numa_node"), -1);
  return device;
}

constexpr std::string_view kNvidia = "0x10de", kDisplay = "0x03";

std::vector<MachineDevice> gpus(const fs::path& sys) {
  std::vector<MachineDevice> all;
  for (const fs::path& folder : entries(sys / "bus/pci/devices")) {
    if (first_line(folder / "vendor") != kNvidia ||
        !first_line(folder / "class").starts_with(kDisplay))
      continue;
    all.push_back(device_at(BusDeviceKind::Gpu, folder));
    all.back().name = fmt::format("GPU{}", all.size() - 1);
  }
  return all;
}

// Those that sit on a bus: others are made of software.
std::vector<MachineDevice> network_cards(const fs::path& sys) {
  std::vector<MachineDevice> all;
  for (const fs::path& folder : entries(sys / "class/net")) {
    if (!fs::exists(folder / "device")) continue;
    all.push_back(device_at(BusDeviceKind::NetworkCard, folder / "device"));
    all.back().name = folder.filename().string();
    for (const fs::path& verbs : entries(folder / "device/infiniband"))
      all.back().what = verbs.filename().string();
    if (const int speed = whole_number(first_line(folder / "speed"), -1); speed > 0)
      all.back().what += fmt::format("{}{} Mb/s", all.back().what.empty() ? "" : ", ", speed);
  }
  return all;
}

DeviceLink link_between(const MachineDevice& a, const MachineDevice& b) {
  size_t shared = 0;
  while (shared < std::min(a.path.size(), b.path.size()) && a.path[shared] == b.path[shared])
    ++shared;
  if (shared >= 2) {
    const size_t bridges = std::max(a.path.size(), b.path.size()) - shared - 1;
    return bridges <= 1 ? DeviceLink::Switch : DeviceLink::Switches;
  }
  if (shared == 1) return DeviceLink::HostBridge;
  return a.node >= 0 && a.node == b.node ? DeviceLink::SameNode : DeviceLink::Far;
}

}  // namespace

std::string_view name(DeviceLink link) {
  constexpr std::string_view kNames[] = {"X", "NVLINK", "PIX", "PXB", "PHB", "NODE", "SYS"};
  return kNames[static_cast<size_t>(link)];
}

std::string_view meaning(DeviceLink link) {
  constexpr std::string_view kMeanings[] = {"the device itself",
                                            "a link of their own between two GPUs",
                                            "one switch or bridge between them",
                                            "several switches between them, but no host bridge",
                                            "the host bridge of one CPU",
                                            "two host bridges of one NUMA node",
                                            "across NUMA nodes, or not known"};
  return kMeanings[static_cast<size_t>(link)];
}

Topology machine_topology(const std::filesystem::path& sys) {
  Topology topology{.nodes = numa_nodes(sys), .devices = gpus(sys), .links = {}};
  for (MachineDevice& card : network_cards(sys)) topology.devices.push_back(std::move(card));
  const Device* gpu = find_device(DeviceKind::Cuda);
  const std::vector<DevicePlace> places = gpu ? gpu->places() : std::vector<DevicePlace>{};
  const auto place_of = [&](const MachineDevice& device) {
    return std::find_if(places.begin(), places.end(),
                        [&](const DevicePlace& place) { return place.address == device.address; });
  };
  for (MachineDevice& device : topology.devices)
    if (const auto place = place_of(device); place != places.end()) device.what = place->name;
  for (const MachineDevice& a : topology.devices) {
    std::vector<DeviceLink>& row = topology.links.emplace_back();
    for (const MachineDevice& b : topology.devices) {
      const auto from = place_of(a), to = place_of(b);
      const bool nvlink =
          from != places.end() && to != places.end() && from->nvlinked.contains(to->address);
      row.push_back(&a == &b ? DeviceLink::Itself
                    : nvlink ? DeviceLink::Nvlink
                             : link_between(a, b));
    }
  }
  return topology;
}

}  // namespace tessera
