// SPDX-License-Identifier: Apache-2.0
#include "measure/compile_step.h"

#include "checkpoint/owned_pieces.h"
#include "core/error.h"

namespace tessera {

int64_t snapshot_bytes_of_rank(const Config& config, std::span<const Program> programs) {
  if (config.checkpoint.every == 0 || config.run.device != "cpu") return 0;
  return most_owned_bytes(programs);
}

Compiled compile_step(Module module, const Config& config, CompileOptions options) {
  if (options.profile.memory_bytes > 0 && config.checkpoint.every > 0) {
    // States do not depend on what is recomputed.
    CompileOptions plain = options;
    plain.plan.recompute = {};
    plain.pipeline = {};
    plain.check = false;
    const int64_t snapshot =
        snapshot_bytes_of_rank(config, compile(Module(module), plain).programs);
    if (snapshot >= options.profile.memory_bytes)
      throw user_error("the snapshot of a rank's states for checkpoints takes {} bytes of its {}",
                       snapshot, options.profile.memory_bytes)
          .at("plan.memory")
          .help("use more ranks, or save nothing (checkpoint.every = 0)");
    options.profile.memory_bytes -= snapshot;
  }
  return compile(std::move(module), options);
}

}  // namespace tessera
