// SPDX-License-Identifier: Apache-2.0
// The simulated executor: runs the same programs as real executors on a cluster's cost model. Ranks
// that run the same program in the same pipeline stage are identical and are simulated once.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "program/step_times.h"
#include "program/trace_writer.h"
#include "sim/cluster.h"
#include "sim/collective_cost.h"
#include "sim/load_model.h"
#include "sim/other_attention.h"
#include "sim/other_layer.h"
#include "sim/other_loss.h"

namespace tessera {

// Seconds of one microbatch through all blocks of a rank; everything else is free.
struct UnitCost {
  double forward = 1, input_grad = 1, weight_grad = 1;
};

struct SimulateOptions {
  std::string script = "train_step";
  std::optional<UnitCost> unit_cost = {};
  double model_flops = 0;    // of the script over all ranks; 0: no mfu
  Precision precision = {};  // mfu is relative to its peak
  bool keep_slices = false;
  bool count_transfers = false;
  LoadModel load = {};  // of experts
  RowCopies copies = RowCopies::PerExpert;
  bool cool = false;  // the devices have not warmed up
  OtherAttention attention = {};
  OtherLoss loss = {};
  OtherLayer layer = find_other_layer("tessera");
  bool steps_drift = false;     // sums of norms and metrics at a step's end hold no stage up
  bool late_sums = false;       // gradients are summed over ranks after the last backward
  bool blocking_sends = false;  // a stage waits for what it sends, unless its backward is split
  bool split_sends = false;     // between stages: each rank along tp sends a part of the stream
  double repeats = 0;       // the share of a forward that recomputation elsewhere repeats, ours not
  double extra_passes = 0;  // over each kernel's results, by kernels that we fuse
  double eager_seconds = 0;  // that a host takes to launch each kernel; 0: all were captured once
};

// All transfers of one instruction in a step: on their links, and how long the rank stalls for
// them, first until the others arrive, then while bytes move.
struct TransferTimes {
  double seconds = 0;
  double waiting_seconds = 0;
  double exposed_seconds = 0;
};

// One of the ranks that run a program. The parts of its program add up to the step.
struct SimulatedRank {
  int rank = 0;   // the first of identical ranks
  int alike = 1;  // ranks
  StepTimes times = {};
  double communication_seconds = 0;  // of all transfers, hidden or not
  int64_t peak_bytes = 0;
  RankTrace trace = {};                                        // where slices are kept
  std::map<const Instruction*, TransferTimes> transfers = {};  // where they are counted
};

struct Simulation {
  double step_seconds = 0;   // from the end of a step to that of the next one
  double first_seconds = 0;  // of a step after a pause, which slices are of
  double mfu = 0;
  StepTimes times = {};              // means over all ranks
  int64_t peak_bytes = 0;            // of the fullest rank
  int64_t host_bytes = 0;            // the same, in the host's memory
  std::vector<SimulatedRank> ranks;  // by program
};

// One program per coordinate along `pp`, in order; a single one without such an axis.
Simulation simulate(std::span<const Program> programs, const Cluster& cluster,
                    const SimulateOptions& options);

// In the format of docs/trace.md; the slices must have been kept.
std::string to_trace_json(std::span<const Program> programs, const Simulation& simulation);

}  // namespace tessera
