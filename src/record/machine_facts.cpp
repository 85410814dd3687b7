// SPDX-License-Identifier: Apache-2.0
#include "record/machine_facts.h"

#include <algorithm>
#include <set>

#include "exec/device_executor.h"

namespace tessera {
namespace {

int count_machines(const std::vector<int>& machines) {
  return std::max(1, static_cast<int>(std::set(machines.begin(), machines.end()).size()));
}

}  // namespace

void add_gpus(RunFacts& facts, const std::vector<int>& machines) {
  const GpuFacts gpu = gpu_facts();
  facts.device = gpu.name;
  facts.device_unit = "devices";
  facts.device_count = std::max(1, static_cast<int>(machines.size()));
  facts.nodes = count_machines(machines);
  facts.device_memory_bytes = gpu.memory_bytes;
  if (facts.ranks == 1)
    facts.interconnect = "none: one rank";
  else if (machines.empty())
    facts.interconnect = "memory of one GPU";
  if (facts.ranks > 1)
    facts.ranks_as = machines.empty() ? "sharing one GPU" : "processes with a GPU each, over NCCL";
}

void add_cores(RunFacts& facts, const std::vector<int>& machines, const RankWorld* world) {
  facts.device = cpu_model_name();
  facts.device_unit = "cores";
  facts.nodes = count_machines(machines);
  facts.device_count = std::min(facts.ranks * facts.threads_per_rank, cores_online() * facts.nodes);
  facts.node_memory_bytes = installed_memory_bytes();
  if (facts.ranks > 1)
    facts.ranks_as = world ? std::string(world->ranks_as()) : "threads of one process";
  if (facts.ranks == 1)
    facts.interconnect = "none: one rank";
  else if (facts.nodes == 1)
    facts.interconnect = "memory of one machine";
}

}  // namespace tessera
