// SPDX-License-Identifier: Apache-2.0
// Finds the checkpoint to resume from: the newest one whose digests all match.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "checkpoint/run_identity.h"
#include "comm/communicator.h"

namespace tessera {

struct NewestValid {
  std::optional<Checkpoint> checkpoint;
  std::vector<std::string> skipped;  // what is wrong with each newer one
};

// Considers checkpoints that `run` may resume from; null: all. The processes of a job share the
// reading and agree; null: a single process. A StorageError if none is valid and one could not be
// read.
NewestValid newest_valid(const std::filesystem::path& checkpoints, const RunIdentity* run = nullptr,
                         Communicator* peers = nullptr);

}  // namespace tessera
