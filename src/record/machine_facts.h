// SPDX-License-Identifier: Apache-2.0
// What a run stands on, for its record: devices, machines, and what joins them. `machines`, by
// rank, is empty where one process runs all ranks.
#pragma once

#include <vector>

#include "comm/communicator.h"
#include "record/run_facts.h"

namespace tessera {

// `world`: null where one process runs all ranks.
void add_machine(RunFacts& facts, DeviceKind device, const std::vector<int>& machines,
                 const RankWorld* world);

}  // namespace tessera
