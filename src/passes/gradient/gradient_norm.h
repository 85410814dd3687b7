// SPDX-License-Identifier: Apache-2.0
// gradient_norm: sums the gradients of parameters that several stages hold, and adds the squared
// norm of all gradients, by which the update clips them.
#pragma once

#include "mesh/plan.h"
#include "passes/pass.h"

namespace tessera {

Pass gradient_norm(Plan plan);

}  // namespace tessera
