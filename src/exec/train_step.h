// SPDX-License-Identifier: Apache-2.0
// How the host runs a compiled training step: what it writes before, and what it reads after. The
// batch is in place already.
#pragma once

#include <limits>

#include "exec/executor.h"
#include "program/expert_load.h"

namespace tessera {

struct StepInputs {
  double learning_rate = 0;
  int64_t step = 1;  // counted from 1
};

struct StepResults {
  double loss = 0;
  double grad_norm = 0;  // before clipping
  // Of routers, added up over layers; NaN where the model has none.
  double balance_loss = std::numeric_limits<double>::quiet_NaN(), z_loss = balance_loss;
  std::vector<ExpertLoad> loads = {};  // by layer
};

// Of a job: all processes call it at the same point.
StepResults run_train_step(Executor& executor, const StepInputs& inputs);
// What experts needed of the room of their pools, in the script that ran last; above 1 nothing was
// updated, and no other value means anything. 0 where there is room for all that could come.
double read_expert_need(const Executor& executor);
// Of the step that ran last.
StepResults read_step_results(const Executor& executor);
std::vector<ExpertLoad> read_expert_loads(const Executor& executor);

}  // namespace tessera
