// SPDX-License-Identifier: Apache-2.0
// use_fp8: the matmuls of layers read 8-bit floats (quantize, matmul_fp8). Blocks that begin or end
// the model keep theirs: embedding and head.
#pragma once

#include "mesh/plan.h"
#include "passes/pass.h"

namespace tessera {

Pass use_fp8(const Plan& plan);

}  // namespace tessera
