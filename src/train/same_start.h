// SPDX-License-Identifier: Apache-2.0
// All ranks of a job must be the same program with the same config; else they part ways later, and
// nobody knows why. Checked before anything else, in one small collective.
#pragma once

#include <string>

#include "comm/communicator.h"

namespace tessera {

struct StartFacts {
  std::string config;   // TOML, all keys
  std::string program;  // digest of the binary
};

// Of this process.
StartFacts start_facts(std::string config);

// A UserError on all ranks that names the first one that differs from most, and in what.
void require_same_start(RankWorld& world, const StartFacts& mine);

}  // namespace tessera
