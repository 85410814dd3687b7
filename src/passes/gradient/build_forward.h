// SPDX-License-Identifier: Apache-2.0
// build_forward: what a forward on several ranks needs beside its maths, where nothing is trained:
// the gather of weights that rest in shards, and the totals of the loss and the number of labels.
#pragma once

#include "mesh/plan.h"
#include "passes/pass.h"

namespace tessera {

Pass build_forward(Plan plan);

}  // namespace tessera
