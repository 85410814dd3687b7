// SPDX-License-Identifier: Apache-2.0
// tessera topology: NUMA nodes, GPUs and network cards of this machine, and the links between them.
#include <memory>
#include <set>

#include "cli/commands.h"
#include "cli/run_options.h"
#include "core/error.h"
#include "core/quantities.h"
#include "exec/topology.h"
#include "files/json.h"

namespace tessera {
namespace {

constexpr const char* kFooter =
    "Read from the kernel and, in builds with CUDA, from the GPU's driver. Place the ranks of\n"
    "tp, and of other axes with much traffic, on GPUs that are near each other.\n"
    "Examples:\n"
    "  tessera topology\n"
    "  tessera topology --json";

void print_nodes(const Topology& topology) {
  for (const NumaNode& node : topology.nodes) {
    std::string distances;
    for (const int distance : node.distances) distances += fmt::format(" {}", distance);
    fmt::print("node {}: CPUs {}, {}; distances{}\n", node.number, node.cpus,
               short_bytes(node.memory_bytes), distances);
  }
}

void print_links(const Topology& topology) {
  std::set<DeviceLink> seen;
  fmt::print("\n{:<10}", "");
  for (const MachineDevice& device : topology.devices) fmt::print(" {:>8}", device.name);
  fmt::print("\n");
  for (size_t i = 0; i < topology.devices.size(); ++i) {
    fmt::print("{:<10}", topology.devices[i].name);
    for (const DeviceLink link : topology.links[i]) {
      fmt::print(" {:>8}", name(link));
      seen.insert(link);
    }
    fmt::print("\n");
  }
  fmt::print("\n");
  for (const DeviceLink link : seen) fmt::print("{:<7} {}\n", name(link), meaning(link));
}

void print_topology(const Topology& topology) {
  print_nodes(topology);
  if (topology.devices.empty()) fmt::print("no GPU and no network card found\n");
  for (const MachineDevice& device : topology.devices)
    fmt::print("{:<10} {} at {}{}{}\n", device.name,
               device.kind == BusDeviceKind::Gpu ? "GPU" : "network card", device.address,
               device.node >= 0 ? fmt::format(", node {}", device.node) : "",
               device.what.empty() ? "" : fmt::format(": {}", device.what));
  if (!topology.devices.empty()) print_links(topology);
}

Json to_json(const Topology& topology) {
  Json json{{"nodes", Json::array()}, {"devices", Json::array()}, {"links", Json::array()}};
  for (const NumaNode& node : topology.nodes)
    json["nodes"].push_back({{"node", node.number},
                             {"cpus", node.cpus},
                             {"memory_bytes", node.memory_bytes},
                             {"distances", node.distances}});
  for (const MachineDevice& device : topology.devices)
    json["devices"].push_back({{"name", device.name},
                               {"kind", device.kind == BusDeviceKind::Gpu ? "gpu" : "network_card"},
                               {"what", device.what},
                               {"address", device.address},
                               {"node", device.node}});
  for (const auto& row : topology.links) {
    Json words = Json::array();
    for (const DeviceLink link : row) words.push_back(name(link));
    json["links"].push_back(std::move(words));
  }
  return json;
}

}  // namespace

void add_topology_command(Command app) {
  auto json = std::make_shared<bool>(false);
  const Command topology =
      app.add_subcommand("topology", "show this machine's GPUs, network cards and NUMA nodes");
  topology.footer(kFooter);
  add_json_flag(topology, *json);
  topology.on_run([json] {
    const Topology found = machine_topology();
    if (*json)
      print_json(to_json(found));
    else
      print_topology(found);
  });
}

}  // namespace tessera
