// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/compile_beside_snapshot.h"

#include "checkpoint/owned_pieces.h"
#include "core/error.h"

namespace tessera {

int64_t snapshot_bytes_of_rank(const RunSpec& spec, std::span<const Program> programs) {
  return spec.snapshots ? most_owned_bytes(programs) : 0;
}

Compiled compile_beside_snapshot(RunSpec spec, const CompileStepOptions& options) {
  if (spec.memory_bytes > 0 && spec.snapshots) {
    RunSpec plain = spec;
    plain.plan.recompute = {};  // states do not depend on what is recomputed
    const int64_t snapshot =
        snapshot_bytes_of_rank(spec, compile(plain, {.check = false}).programs);
    if (snapshot >= spec.memory_bytes)
      throw user_error("the snapshot of a rank's states for checkpoints takes {} bytes of its {}",
                       snapshot, spec.memory_bytes)
          .at("plan.memory")
          .help("use more ranks, or save nothing (checkpoint.every = 0)");
    spec.memory_bytes -= snapshot;
  }
  return compile(spec, options);
}

}  // namespace tessera
