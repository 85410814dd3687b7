// SPDX-License-Identifier: Apache-2.0
// The checkpoint for a path on the command line: a step's folder, one file, or the newest valid one
// of a run's output folder.
#pragma once

#include <string>

#include "checkpoint/checkpoint.h"

namespace tessera {

// Verified. Newer ones that are not valid are named on stderr.
Checkpoint find_checkpoint(const std::string& from);

}  // namespace tessera
