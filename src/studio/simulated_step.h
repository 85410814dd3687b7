// SPDX-License-Identifier: Apache-2.0
// A run's step, compiled and simulated on a cluster, and what `tessera simulate --json` says of it.
#pragma once

#include <optional>
#include <string>

#include "compiler/compile.h"
#include "config/run_spec.h"
#include "files/json.h"
#include "models/model_size.h"
#include "sim/simulate.h"
#include "sim/unknowns.h"

namespace tessera {

struct SimulatedStep {
  Config config;
  Cluster cluster;
  RunSpec spec;
  Compiled compiled;
  SimulateOptions options;
  Simulation simulation;  // its slices point into `compiled`
  bool islands = false;   // it is the step of one of several

  int ranks() const { return spec.plan.mesh.num_ranks(); }
  bool fits() const;
};

struct StepOptions {
  bool check = true;  // the programs, by the static check
  bool keep_slices = false;
  bool count_transfers = false;
  std::optional<UnitCost> unit_cost = {};
  LoadModel load = {};
  RowCopies copies = RowCopies::PerExpert;
  bool cool = false;
  OtherAttention attention = {};
  OtherLoss loss = {};
  OtherLayer layer = find_other_layer("tessera");
  bool steps_drift = false;
  bool late_sums = false;
  bool blocking_sends = false;
  bool split_sends = false;
  double repeats = 0;       // the share of a forward that recomputation elsewhere repeats, ours not
  double extra_passes = 0;  // over each kernel's results, by kernels that we fuse
  double eager_seconds = 0;
};

// The run of a config on a cluster, which gives the memory for plan.recompute = fit where the
// config does not.
RunSpec spec_to_simulate(const Cluster& cluster, const Config& config);
// Compiled, and not yet simulated.
SimulatedStep compile_to_simulate(const Config& config, const Cluster& cluster, const RunSpec& spec,
                                  const StepOptions& options);
void simulate_compiled(SimulatedStep& step);
SimulatedStep simulate_step(const Config& config, const Cluster& cluster, const RunSpec& spec,
                            const StepOptions& options);

// Shares of the peak: full attention counted, and all that the programs run.
struct OtherUtilisation {
  double mfu_full = 0, hfu = 0;
};
OtherUtilisation other_utilisation(const SimulatedStep& step);

// "llama3-8b, batch 512 x 8192, bf16, mesh tp=2: 2 ranks on dgx-h100"
std::string title_of(const SimulatedStep& step);
// What its figures leave out or assume.
std::vector<Unknown> unknowns_of(const SimulatedStep& step);
Json to_json(const SimulatedStep& step);
Json to_json(const std::vector<Unknown>& unknowns);

}  // namespace tessera
