// SPDX-License-Identifier: Apache-2.0
// What runs the compiled step of a run on the run's device.
#pragma once

#include <memory>

#include "comm/communicator.h"
#include "config/run_spec.h"
#include "exec/rank_executor.h"

namespace tessera {

// `programs`, by place along the pipeline, are those compiled from `spec`, which also gives the
// threads of each rank. `world`: this process is one rank of it; null: it runs all ranks.
std::unique_ptr<Executor> make_executor(const RunSpec& spec, std::vector<Program> programs,
                                        ExecutorOptions options = {}, RankWorld* world = nullptr);

}  // namespace tessera
