// SPDX-License-Identifier: Apache-2.0
// What the processes of a job agree on between two steps: whether to stop or to save, and that all
// of them are at the same step.
#pragma once

#include "exec/executor.h"

namespace tessera {

struct Agreement {
  bool stop = false, save = false;
};

// True where any process says so. Throws PeerError where a rank is at another step than most.
Agreement agree_on_next_step(Executor& executor, int64_t step, Agreement mine);

}  // namespace tessera
