// SPDX-License-Identifier: Apache-2.0
// A config's training step, compiled and ready to run on the device that the config names: all of
// its ranks in this process, or one rank of a job.
#pragma once

#include "comm/communicator.h"
#include "exec/rank_executor.h"
#include "record/run_facts.h"

namespace tessera {

struct RunExecutor {
  std::unique_ptr<Executor> executor;
  RunFacts facts;
  std::string note;                   // what a user may want to know of the plan; may be empty
  std::vector<std::string> warnings;  // what makes it slower than it could be
};

// `world`: this process is one rank of it; null: it runs all ranks.
RunExecutor make_run_executor(const Config& config, RankWorld* world, RankObserver observer,
                              RankFault fault = {});

}  // namespace tessera
