// SPDX-License-Identifier: Apache-2.0
#include "record/machine_facts.h"

#include <algorithm>
#include <set>

#include "exec/device.h"
#include "system/this_machine.h"

namespace tessera {
namespace {

int count_machines(const std::vector<int>& machines) {
  return std::max(1, static_cast<int>(std::set(machines.begin(), machines.end()).size()));
}

void add_devices(RunFacts& facts, const DeviceFacts& device, const std::vector<int>& machines) {
  facts.device_unit = "devices";
  facts.device_count = std::max(1, static_cast<int>(machines.size()));
  facts.device_memory_bytes = device.memory_bytes;
  if (facts.ranks == 1)
    facts.interconnect = "none: one rank";
  else if (machines.empty())
    facts.interconnect = "memory of one GPU";
  if (facts.ranks > 1)
    facts.ranks_as = machines.empty() ? "sharing one GPU" : "processes with a GPU each, over NCCL";
}

void add_cores(RunFacts& facts, const DeviceFacts& device, const RankWorld* world) {
  facts.device_unit = "cores";
  facts.device_count = std::min(facts.ranks * facts.threads_per_rank, cores_online() * facts.nodes);
  facts.node_memory_bytes = device.memory_bytes;
  if (facts.ranks > 1)
    facts.ranks_as = world ? std::string(world->ranks_as()) : "threads of one process";
  if (facts.ranks == 1)
    facts.interconnect = "none: one rank";
  else if (facts.nodes == 1)
    facts.interconnect = "memory of one machine";
}

}  // namespace

void add_machine(RunFacts& facts, DeviceKind device, const std::vector<int>& machines,
                 const RankWorld* world) {
  const DeviceFacts found = require_device(device).facts();
  facts.device = found.name;
  facts.nodes = count_machines(machines);
  if (is_host(device))
    add_cores(facts, found, world);
  else
    add_devices(facts, found, machines);
}

}  // namespace tessera
