// SPDX-License-Identifier: Apache-2.0
#include "inference/find_checkpoint.h"

#include "checkpoint/checkpoint_folder.h"
#include "checkpoint/newest_valid.h"

namespace tessera {

Checkpoint find_checkpoint(const std::string& from) {
  const std::filesystem::path path = from;
  if (!std::filesystem::is_directory(path) || std::filesystem::exists(path / kManifestName)) {
    Checkpoint checkpoint(path);
    checkpoint.verify();
    return checkpoint;
  }
  const std::optional<RunIdentity> run = read_run_identity(path);
  NewestValid newest = newest_valid(checkpoints_of(path), run ? &*run : nullptr);
  for (const std::string& skipped : newest.skipped)
    fmt::print(stderr, "warning: skipping a checkpoint: {}\n", skipped);
  if (!newest.checkpoint)
    throw user_error("there is no {}checkpoint in {}", newest.skipped.empty() ? "" : "valid ",
                     checkpoints_of(path).string())
        .help("train with --save-every N to get one");
  return std::move(*newest.checkpoint);
}

}  // namespace tessera
