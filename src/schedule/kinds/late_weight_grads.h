// SPDX-License-Identifier: Apache-2.0
// Shared by zb_h1 and zb_h2 (Qi et al. 2023): 1F1B in which rank i has depth * (ranks - i - 1)
// warm-up forwards, and its weight gradients run depth * i microbatches after input gradients.
// Every rank then holds at most depth * (ranks - 1) + 1 microbatches.
#pragma once

#include "schedule/schedule.h"

namespace tessera {

Schedule late_weight_grads(const char* kind, int ranks, int microbatches, int depth);

}  // namespace tessera
