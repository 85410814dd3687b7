// SPDX-License-Identifier: Apache-2.0
// group_parameters: which optimizer moves each parameter, and the parameter group that it is in.
#pragma once

#include "ir/optimizer.h"
#include "passes/pass.h"

namespace tessera {

Pass group_parameters(OptimizerOptions options);

}  // namespace tessera
