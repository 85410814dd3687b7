// SPDX-License-Identifier: Apache-2.0
// How a run continues from a checkpoint: when it is resumed, and when it is rewound after a step
// whose loss or gradient norm is not finite.
#pragma once

#include <span>
#include <string>

#include "exec/executor.h"
#include "system/fault_plan.h"
#include "train/island_exchange.h"
#include "train/island_group.h"
#include "train/step_runner.h"

namespace tessera {

// After a step whose loss or gradient norm is not finite: what was the first that is not. A
// parameter, else the value that the step made first, which is computed again for it: "%h: swiglu
// of layer.3, forward, microbatch 2". No state changes. All processes of a job ask at the same
// point.
std::string first_non_finite(Executor& executor, double loss);

// Of an island.
struct IslandRecovery {
  IslandGroup* group = nullptr;        // null: it resumes alone
  IslandExchange* exchange = nullptr;  // null: it is none
};

class Recovery {
 public:
  // All of them must outlive it. `position` is the run's own: recovery moves it. `faults` may be
  // null.
  Recovery(const StepParts& parts, StepRunner& runner, RunSaver& saver,
           CheckpointPosition& position, FaultPlan* faults, IslandRecovery island = {});

  // Loads the newest valid checkpoint. `accepted_changes`: keys of the config that may differ from
  // those that it was saved with.
  void resume(std::span<const std::string> accepted_changes);

  // Follows train.on_non_finite: throws, marks the step as skipped, or rewinds. All ranks call it
  // after the same step, because the loss and the norm are sums over all of them.
  void handle_non_finite(StepRecord& record);

 private:
  void accept_changes(const CheckpointFacts& saved, std::span<const std::string> accepted);
  void require_same_data(std::span<const std::string> accepted);
  void rewind(const std::string& why);
  NewestValid newest_of_all_islands() const;

  StepParts parts_;
  StepRunner& runner_;
  RunSaver& saver_;
  CheckpointPosition& position_;
  FaultPlan* faults_;
  IslandRecovery island_;
  OnNonFinite policy_;
  int rewinds_ = 0;  // in a row, to the checkpoint of step rewound_to_
  int64_t rewound_to_ = -1;
};

}  // namespace tessera
