// SPDX-License-Identifier: Apache-2.0
// Moves every weight by chance, by at most a part of itself: what becomes of a step tells how much
// rounding errors of that size matter.
#pragma once

#include "exec/executor.h"

namespace tessera {

void perturb_weights(Executor& executor, double part, uint64_t seed);

}  // namespace tessera
