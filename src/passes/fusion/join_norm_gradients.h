// SPDX-License-Identifier: Apache-2.0
// join_norm_gradients: where a residual connection bypasses a norm, its gradient is added inside
// the norm's gradient (layer_norm_grad, rms_norm_grad).
#pragma once

#include "passes/pass.h"

namespace tessera {

Pass join_norm_gradients();

}  // namespace tessera
