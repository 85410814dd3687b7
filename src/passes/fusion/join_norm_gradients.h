// SPDX-License-Identifier: Apache-2.0
// join_norm_gradients: where a residual connection passes a norm by, the gradient that comes along
// it is added where the norm's own is made (layer_norm_grad, rms_norm_grad).
#pragma once

#include "passes/pass.h"

namespace tessera {

Pass join_norm_gradients();

}  // namespace tessera
