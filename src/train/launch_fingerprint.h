// SPDX-License-Identifier: Apache-2.0
// All ranks of a job must run the same program with the same config, or they would diverge later
// for no visible reason. Checked before anything else, in one small collective.
#pragma once

#include <string>

#include "comm/communicator.h"

namespace tessera {

struct LaunchFingerprint {
  std::string config;   // TOML, all keys
  std::string program;  // digest of the binary
};

// Of this process.
LaunchFingerprint fingerprint_launch(std::string config);

// A UserError on all ranks that names the first one that differs from most, and in what.
void require_identical_launch(RankWorld& world, const LaunchFingerprint& mine);

}  // namespace tessera
