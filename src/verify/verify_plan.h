// SPDX-License-Identifier: Apache-2.0
// Runs a model under a plan beside the same model on one rank, from the same seed and batches, and
// compares everything that training produces; what may differ is in step_judge.h.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "compiler/compile.h"
#include "exec/device_executor.h"
#include "exec/mesh_executor.h"
#include "models/model_config.h"
#include "verify/step_judge.h"

namespace tessera {

struct VerifyRequest {
  ModelConfig model;
  BatchShape microbatch;  // over all ranks
  int microbatches = 1;
  DType precision = DType::Fp64;
  OptimizerOptions optimizer;
  Plan plan;
  int steps = 2;
  uint64_t seed = 1;
  double learning_rate = 1e-3;
  int threads = 1;           // of this machine
  int64_t memory_bytes = 0;  // of a rank; 0: not known
  bool show_ranks = false;
  bool on_gpu = false;            // the plan's ranks share one; the oracle stays on the CPU
  bool poison = false;            // dead memory of the plan's ranks is filled with NaNs
  PipelineOptions pipeline = {};  // of the plan's compilation alone
  // Tests break programs with it; once per rank.
  std::function<void(int rank, Program&)> change_program = {};
};

// The request's model and optimizer, as `plan` spreads them.
Compiled compile_for(const VerifyRequest& request, const Plan& plan, int threads_per_rank);

struct VerifiedRank {
  int rank = 0;
  // Its own share of the last step's loss, before the sum over ranks; none: its stage has no loss.
  std::optional<double> loss;
  std::string digest;  // of the parameters it holds at the end
};

struct VerifyReport : StepErrors {
  WorstError replica;  // copies must agree to the bit
  double first_loss = 0;
  std::vector<VerifiedRank> ranks;  // where asked for

  bool equal() const;
};

VerifyReport verify_plan(const VerifyRequest& request);

}  // namespace tessera
