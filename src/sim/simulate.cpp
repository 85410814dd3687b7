// SPDX-License-Identifier: Apache-2.0
#include "sim/simulate.h"

#include <algorithm>
#include <memory>

#include "core/error.h"
#include "files/trace_events.h"
#include "sim/rank_walk.h"

namespace tessera {
namespace {

void check_size(const Mesh& mesh, const Cluster& cluster) {
  const Level& all = cluster.levels.back();
  if (mesh.num_ranks() > all.ranks)
    throw user_error("the mesh has {} ranks ({}), but cluster {} has {}", mesh.num_ranks(),
                     to_string(mesh), cluster.name, all.ranks)
        .help("use a smaller mesh, or a larger cluster");
}

int first_rank(const Program& program, size_t place) {
  if (program.pipeline_axis < 0) return 0;
  int rank = 0;
  while (program.mesh.coordinate(rank, program.pipeline_axis) != static_cast<int>(place)) ++rank;
  return rank;
}

constexpr double kRounding = 1e-12;

using Walks = std::vector<std::unique_ptr<RankWalk>>;

// Until all have run their script to its end; returns when the last one does.
double run_to_end(const Walks& walks, Crossings& crossings) {
  const auto members = static_cast<int>(walks.size());
  for (bool moved = true; moved;) {
    moved = false;
    for (const auto& walk : walks) moved = walk->advance(crossings, members) || moved;
  }
  double end = 0;
  for (const auto& walk : walks) {
    TESSERA_CHECK(walk->finished(), "a rank waits forever: the static check should have found it");
    end = std::max(end, walk->now());
  }
  return end;
}

}  // namespace

Simulation simulate(std::span<const Program> programs, const Cluster& cluster,
                    const SimulateOptions& options) {
  TESSERA_CHECK(!programs.empty());
  const Mesh& mesh = programs.front().mesh;
  check_size(mesh, cluster);
  if (!options.unit_cost) check_precision(cluster, options.precision);
  check_attention(cluster, options.attention);
  Walks walks;
  for (const Program& program : programs)
    walks.push_back(std::make_unique<RankWalk>(program, cluster, options));
  const auto members = static_cast<int>(walks.size());
  Crossings crossings;
  Simulation simulation;
  simulation.step_seconds = simulation.first_seconds = run_to_end(walks, crossings);
  // Stages may end a step, and begin the next one, at different times: what counts is how much
  // later the second step ends. Identical ranks cannot drift.
  std::vector<StepTimes> first(walks.size());
  if (members > 1) {
    for (size_t i = 0; i < walks.size(); ++i) {
      first[i] = walks[i]->times();
      walks[i]->begin_again();
    }
    simulation.step_seconds = run_to_end(walks, crossings) - simulation.first_seconds;
  }
  StepTimes& mean = simulation.times;
  for (size_t i = 0; i < walks.size(); ++i) {
    SimulatedRank rank = walks[i]->take();
    rank.rank = first_rank(programs[i], i);
    rank.alike = mesh.num_ranks() / members;
    if (members > 1) {
      rank.times.compute_seconds -= first[i].compute_seconds;
      rank.times.exposed_communication_seconds -= first[i].exposed_communication_seconds;
      const double busy = rank.times.compute_seconds + rank.times.exposed_communication_seconds;
      const double idle = simulation.step_seconds - busy;
      rank.times.bubble_seconds = idle > kRounding * simulation.step_seconds ? idle : 0;
    }
    simulation.peak_bytes = std::max(simulation.peak_bytes, rank.peak_bytes);
    simulation.host_bytes = std::max(simulation.host_bytes, programs[i].host_bytes());
    mean.exposed_communication_seconds += rank.times.exposed_communication_seconds / members;
    mean.bubble_seconds += rank.times.bubble_seconds / members;
    simulation.ranks.push_back(std::move(rank));
  }
  mean.compute_seconds =
      simulation.step_seconds - (mean.exposed_communication_seconds + mean.bubble_seconds);
  const KernelCost kernels(cluster, {programs.front().threads, mesh.num_ranks()});
  if (simulation.step_seconds > 0)
    simulation.mfu =
        options.model_flops /
        (simulation.step_seconds * kernels.total_peak(matmul_arithmetic(options.precision)));
  return simulation;
}

// One process per program: its first rank stands for all identical ones.
std::string to_trace_json(std::span<const Program> programs, const Simulation& simulation) {
  std::vector<std::string> events;
  for (size_t i = 0; i < programs.size(); ++i) {
    const SimulatedRank& rank = simulation.ranks[i];
    events.push_back(trace_events(programs[i], rank.trace, rank.rank, rank.alike));
  }
  return trace_json(events);
}

}  // namespace tessera
