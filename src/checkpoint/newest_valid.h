// SPDX-License-Identifier: Apache-2.0
// Which checkpoint a run goes on from: the newest one whose every byte is as it was written.
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

// Of those that `run` may go on from; null: of all. The processes of a job share the reading and
// agree; null: there is one. A StorageError where none is valid, and one could not be read.
NewestValid newest_valid(const std::filesystem::path& checkpoints, const RunIdentity* run = nullptr,
                         Communicator* peers = nullptr);

}  // namespace tessera
