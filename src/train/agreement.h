// SPDX-License-Identifier: Apache-2.0
// What the processes of a job agree on between two steps: whether to stop or to save, and that all
// of them are at the same step.
#pragma once

#include "comm/communicator.h"

namespace tessera {

struct Agreement {
  bool stop = false, save = false;
};

// True where any process says so. Throws PeerError where a rank is at another step than most. `job`
// is the group of all processes; null: this one runs all ranks.
Agreement agree_on_next_step(Communicator* job, int64_t step, Agreement mine);

}  // namespace tessera
