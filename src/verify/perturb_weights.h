// SPDX-License-Identifier: Apache-2.0
// Moves every weight at random, by at most a fraction of itself: how much a step then changes says
// how much rounding errors of that size matter.
#pragma once

#include "exec/executor.h"

namespace tessera {

void perturb_weights(Executor& executor, double part, uint64_t seed);

}  // namespace tessera
