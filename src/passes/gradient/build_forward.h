// SPDX-License-Identifier: Apache-2.0
// build_forward: adds what inference on several ranks needs: the gather of sharded weights, and the
// totals of the loss and the number of labels.
#pragma once

#include "mesh/plan.h"
#include "passes/pass.h"

namespace tessera {

Pass build_forward(Plan plan);

}  // namespace tessera
