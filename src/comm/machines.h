// SPDX-License-Identifier: Apache-2.0
// Which ranks share a machine.
#pragma once

#include <vector>

#include "comm/communicator.h"

namespace tessera {

// By rank: the lowest rank of its machine. All ranks call it together.
std::vector<int> machines_of_ranks(RankWorld& world);

}  // namespace tessera
