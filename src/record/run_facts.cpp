// SPDX-License-Identifier: Apache-2.0
#include "record/run_facts.h"

#include <algorithm>
#include <set>

#include "exec/device.h"
#include "files/json_struct.h"
#include "program/program_work.h"
#include "schedule/schedule_timing.h"
#include "system/this_machine.h"

namespace tessera {

template <typename Visit>
void visit_fields(FlopsPerToken& flops, const Visit& visit) {
  visit("causal", flops.causal);
  visit("full", flops.full);
}

template <typename Visit>
void visit_fields(RankFacts& facts, const Visit& visit) {
  visit("rank", facts.rank);
  visit("alike", facts.alike);
  visit("peak_bytes", facts.peak_bytes);
  for (const TimePart& part : kTimeParts)
    if (part.scope == TimeScope::Program) visit(part.key, facts.times.*part.seconds);
}

template <typename Visit>
void visit_fields(RunFacts& facts, const Visit& visit) {
  visit("source", facts.source);
  visit("model", facts.model);
  visit("parameters", facts.parameters);
  visit("device", facts.device);
  visit("device_unit", facts.device_unit);
  visit("device_count", facts.device_count);
  visit("nodes", facts.nodes);
  visit("interconnect", facts.interconnect);
  visit("ranks_as", facts.ranks_as);
  visit("node_memory_bytes", facts.node_memory_bytes);
  visit("device_memory_bytes", facts.device_memory_bytes);
  visit("mesh", facts.mesh);
  visit("ranks", facts.ranks);
  visit("threads_per_rank", facts.threads_per_rank);
  visit("repeatable", facts.repeatable);
  visit("tokens_per_step", facts.tokens_per_step);
  visit("flops_per_token", facts.flops_per_token);
  visit("hardware_flops", facts.hardware_flops);
  visit("recompute_flops", facts.recompute_flops);
  visit("matmul_side", facts.matmul_side);
  visit("stages", facts.stages);
  visit("schedule_bubble", facts.schedule_bubble);
  visit("rank_classes", facts.rank_classes);
}

namespace {

// A forward, an input gradient and a weight gradient cost the same; blocks that are rebuilt run
// their forward again before their gradients.
double bubble_of(const Compiled& compiled) {
  const bool again = compiled.programs.front().recomputes;
  const StageCosts costs{.forward = 1, .input_grad = again ? 2.0 : 1.0, .weight_grad = 1};
  return time_schedule(compiled.schedule, costs).bubble_of_total;
}

}  // namespace

RunFacts facts_of(const Config& config, const RunSpec& spec, const Compiled& compiled) {
  const std::vector<Program>& programs = compiled.programs;
  const Mesh& mesh = programs.front().mesh;
  const ProgramWork work = work_of(programs, "train_step");
  RunFacts facts{.model = model_name(config),
                 .parameters = parameter_count(spec.model),
                 .mesh = to_string(mesh),
                 .ranks = mesh.num_ranks(),
                 .threads_per_rank = programs.front().threads,
                 .repeatable = spec.repeatable,
                 .tokens_per_step = spec.tokens_per_step(),
                 .flops_per_token = flops_per_token(spec.model, spec.seq()),
                 .hardware_flops = work.flops,
                 .recompute_flops = work.recompute_flops,
                 .matmul_side = work.matmul_side,
                 .stages = compiled.schedule.num_stages(),
                 .schedule_bubble = bubble_of(compiled)};
  const int alike = facts.ranks / static_cast<int>(programs.size());
  for (size_t place = 0; place < programs.size(); ++place) {
    int rank = 0;
    while (&at_place(programs, rank) != &programs[place]) ++rank;
    facts.rank_classes.push_back(
        {.rank = rank, .alike = alike, .peak_bytes = programs[place].peak_bytes()});
  }
  return facts;
}

Json to_json(const RunFacts& facts) { return sorted(to_json<RunFacts>(facts)); }

std::optional<RunFacts> facts_of_json(const Json& json) {
  RunFacts facts;
  return read_json(json, facts) ? std::optional(facts) : std::nullopt;
}

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
