// SPDX-License-Identifier: Apache-2.0
// build_backward: adds the nodes that compute gradients, block class by block class, from each op's
// own rule.
#pragma once

#include "passes/pass.h"

namespace tessera {

Pass build_backward();

}  // namespace tessera
