// SPDX-License-Identifier: Apache-2.0
// The phases that make gradients; rebuilt values belong to the backward, but are none.
#pragma once

#include "ir/graph.h"

namespace tessera {

inline bool makes_gradients(Phase phase) {
  return phase == Phase::InputGrad || phase == Phase::WeightGrad;
}

}  // namespace tessera
