// SPDX-License-Identifier: Apache-2.0
// What zb_h1 and zb_h2 share (Qi et al. 2023): 1F1B in which rank i runs depth * (ranks - i - 1)
// forwards ahead and weight gradients lag depth * i microbatches behind input gradients. Every rank
// then holds at most depth * (ranks - 1) + 1 microbatches.
#pragma once

#include "schedule/schedule.h"

namespace tessera {

Schedule late_weight_grads(const char* kind, int ranks, int microbatches, int depth);

}  // namespace tessera
