// SPDX-License-Identifier: Apache-2.0
// Every rank writes its part of a checkpoint, so all of them must see one folder; where each
// machine has a disk of its own under that name, no checkpoint would ever be whole. Found before
// the first step.
#pragma once

#include <filesystem>

#include "comm/communicator.h"

namespace tessera {

// The first rank puts a file there, which all must find. Else a UserError on all ranks that names
// those that do not, and their machines. `patience_seconds`: for file systems that remember for a
// while what was not there.
void require_shared_folder(RankWorld& world, const std::filesystem::path& folder,
                           double patience_seconds = 5);

}  // namespace tessera
