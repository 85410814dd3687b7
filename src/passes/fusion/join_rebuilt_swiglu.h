// SPDX-License-Identifier: Apache-2.0
// join_rebuilt_swiglu: where the backward rebuilds the result of a SwiGLU, the SwiGLU's gradient
// yields it, so that gate and up are read once.
#pragma once

#include "passes/pass.h"

namespace tessera {

Pass join_rebuilt_swiglu();

}  // namespace tessera
