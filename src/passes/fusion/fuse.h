// SPDX-License-Identifier: Apache-2.0
// fuse: a bias and an activation that follow a matmul join it as its epilogue (matmul_epilogue); a
// sum joins either as its addend. The gradient of GELU joins the matmul before it too.
#pragma once

#include "passes/pass.h"

namespace tessera {

Pass fuse();

}  // namespace tessera
