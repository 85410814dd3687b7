// SPDX-License-Identifier: Apache-2.0
// The checkpoints of one run: which one it goes on from, and those that it saves.
#pragma once

#include <memory>

#include "checkpoint/checkpoint_writer.h"
#include "checkpoint/newest_valid.h"
#include "exec/executor.h"
#include "train/config.h"

namespace tessera {

class RunSaver {
 public:
  // All processes of a job make theirs together; a null world: there is one.
  RunSaver(const Config& config, Executor& executor, RankWorld* world, FaultPlan* faults);

  NewestValid newest() const { return newest_valid(folder_, peers_.get()); }
  // Of all ranks; 0 where the run saves nothing.
  int64_t snapshot_bytes() const;
  // Seconds that training stands still.
  double save(const CheckpointPosition& position);
  std::optional<SaveOutcome> take_outcome();
  void finish();

 private:
  std::filesystem::path folder_;
  Executor& executor_;
  CheckpointFacts facts_;
  std::unique_ptr<Communicator> peers_;
  std::unique_ptr<Generation> generation_;    // of the first process
  std::unique_ptr<CheckpointWriter> writer_;  // null where the run saves nothing
};

}  // namespace tessera
