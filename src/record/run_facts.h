// SPDX-License-Identifier: Apache-2.0
// What is true of a whole run, or of a simulated one, and cannot be read from its config: the
// machine, what was compiled, and the work of a step. Empty text and 0 mean: not known.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "comm/communicator.h"
#include "compiler/compile.h"
#include "config/run_spec.h"
#include "files/json.h"
#include "models/model_size.h"
#include "program/step_times.h"

namespace tessera {

// One of the ranks that run the same program. Simulated ones know their times, too.
struct RankFacts {
  int rank = 0, alike = 1;
  int64_t peak_bytes = 0;
  StepTimes times = {};
};

struct RunFacts {
  std::string source = "train";  // or "simulate"
  std::string model = {};
  int64_t parameters = 0;
  std::string device = {};       // the model of it
  std::string device_unit = {};  // "cores" where ranks share them, else "devices"
  int device_count = 0;
  int nodes = 0;
  std::string interconnect = {};
  std::string ranks_as = {};       // "threads of one process", "processes over MPI"
  double node_memory_bytes = 0;    // of a machine whose cores are shared
  double device_memory_bytes = 0;  // of a rank's own device
  std::string mesh = {};
  int ranks = 1, threads_per_rank = 1;
  bool repeatable = true;  // see train.repeatable
  int64_t tokens_per_step = 0;
  FlopsPerToken flops_per_token = {};
  double hardware_flops = 0, recompute_flops = 0;  // of a step, as the programs run it
  int64_t matmul_side = 0;                         // see ProgramWork
  int stages = 1;                                  // along the pipeline, chunks counted
  double schedule_bubble = 0;  // share of the step that ranks idle by the schedule alone
  std::vector<RankFacts> rank_classes = {};
};

// What the compiled step says; of the machine nothing yet.
RunFacts facts_of(const Config& config, const RunSpec& spec, const Compiled& compiled);

Json to_json(const RunFacts& facts);
std::optional<RunFacts> facts_of_json(const Json& json);  // nothing where it is not as we write it

// What a run stands on, for its record: devices, machines, and what joins them. `machines`, by
// rank, is empty where one process runs all ranks.
// `world`: null where one process runs all ranks.
void add_machine(RunFacts& facts, DeviceKind device, const std::vector<int>& machines,
                 const RankWorld* world);

}  // namespace tessera
