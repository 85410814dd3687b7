// SPDX-License-Identifier: Apache-2.0
// A step that is too large for its machine is refused before anything is allocated, with a change
// of the config that would fit.
#pragma once

#include <functional>
#include <memory>
#include <span>

#include "exec/make_executor.h"

namespace tessera {

// What the programs of all ranks, by place along the pipeline, take of the machine.
using BytesOfPrograms = std::function<int64_t(std::span<const Program>)>;

// "train.microbatches = 4 would need 61.2 GB": the first of more microbatches, blocks rebuilt in
// the backward, and both, whose step takes `limit_bytes` or less; empty: none.
std::string fitting_change(const Config& config, int64_t limit_bytes, const BytesOfPrograms& bytes);

// As make_executor; where a device's memory is too small for all ranks, the error says what would
// fit.
std::unique_ptr<Executor> make_fitting_executor(const Config& config, const RunSpec& spec,
                                                std::vector<Program> programs,
                                                ExecutorOptions options,
                                                RankWorld* world = nullptr);

}  // namespace tessera
