// SPDX-License-Identifier: Apache-2.0
// Compiles the training step of a config beside its checkpoints' snapshot: where ranks share their
// memory with the snapshot, plan.memory has room for both.
#pragma once

#include "compiler/compile.h"
#include "config/config.h"

namespace tessera {

// That a rank's part of the snapshot takes at most. 0: the run saves nothing, or it runs on a GPU,
// whose snapshot lies in the host's memory.
int64_t snapshot_bytes_of_rank(const Config& config, std::span<const Program> programs);

Compiled compile_step(Module module, const Config& config, CompileOptions options);

}  // namespace tessera
