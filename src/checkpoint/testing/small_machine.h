// SPDX-License-Identifier: Apache-2.0
// For tests of checkpoints: a small model with a tied and padded vocabulary, biases, master weights
// and averages, in training on any mesh.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "checkpoint/checkpoint_writer.h"
#include "exec/executor.h"

namespace tessera {

class SmallMachine {
 public:
  // Config overrides such as "mesh=dp=2"; a null world: all ranks as threads of this process.
  explicit SmallMachine(std::vector<std::string> overrides, RankWorld* world = nullptr);

  Executor& executor() { return *executor_; }
  double train_step(int64_t step);  // the loss; steps count from 1
  std::map<std::string, std::vector<std::byte>> states() const;

 private:
  int64_t vocabulary_ = 0;
  std::unique_ptr<Executor> executor_;
};

CheckpointFacts facts_at(int64_t step);
// Saves like a run, waits, and returns the outcome.
SaveOutcome save(CheckpointWriter& writer, int64_t step, const std::string& run = "");
// The same with a new writer, which knows no other checkpoint.
SaveOutcome save(SmallMachine& machine, const CheckpointWriterOptions& options, int64_t step,
                 const std::string& run = "");

}  // namespace tessera
