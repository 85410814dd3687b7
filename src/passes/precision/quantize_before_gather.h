// SPDX-License-Identifier: Apache-2.0
// quantize_before_gather: where a gathered value is only read in 8 bits, each rank quantises its
// own part, and 8 bits travel. The scale is that of the whole, so all results have the same bits.
#pragma once

#include "mesh/plan.h"
#include "passes/pass.h"

namespace tessera {

// Where the plan asks for rings, whose pieces are multiplied as they come.
Pass quantize_before_gather(const Plan& plan);

}  // namespace tessera
