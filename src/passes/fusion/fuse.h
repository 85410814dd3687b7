// SPDX-License-Identifier: Apache-2.0
// fuse: a bias and an activation that follow a matmul become its epilogue (matmul_epilogue); a sum
// becomes the addend of either. The gradient of GELU is fused into the matmul before it too.
#pragma once

#include "passes/pass.h"

namespace tessera {

Pass fuse();

}  // namespace tessera
