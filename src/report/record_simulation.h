// SPDX-License-Identifier: Apache-2.0
// Writes a simulated step as the record of a run with one step, so that all code that reads runs
// can read it.
#pragma once

#include <filesystem>

#include "record/run_facts.h"
#include "sim/simulate.h"

namespace tessera {

// The facts of a step on a cluster: the machine is the cluster's, times are by class of ranks.
RunFacts simulated_facts(const Config& config, const RunSpec& spec, const Compiled& compiled,
                         const Cluster& cluster, const Simulation& simulation);

// Share of all ranks' peak that the flops of a step take.
double simulated_utilisation(const RunFacts& facts, double flops_per_step, const Cluster& cluster,
                             const Simulation& simulation, Precision precision);

// Writes config.toml, cluster.toml, metrics.jsonl and events.jsonl. A UserError if the folder holds
// a real run.
void record_simulation(const std::filesystem::path& folder, Config config, const RunFacts& facts,
                       const Cluster& cluster, const Simulation& simulation);

}  // namespace tessera
