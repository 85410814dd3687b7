// SPDX-License-Identifier: Apache-2.0
// Compiles the step of a run so that a rank's memory also has room for the snapshot of its states,
// where checkpoints take one there.
#pragma once

#include <span>

#include "config/compile_step.h"

namespace tessera {

// What a rank's part of the snapshot takes at most; 0: there is none in its memory.
int64_t snapshot_bytes_of_rank(const RunSpec& spec, std::span<const Program> programs);

Compiled compile_beside_snapshot(RunSpec spec, const CompileStepOptions& options = {});

}  // namespace tessera
