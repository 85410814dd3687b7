// SPDX-License-Identifier: Apache-2.0
// overlap: starts collectives as early as their data allows and waits for them as late as their
// uses allow, with weight gradients in between.
#pragma once

#include "passes/pass.h"

namespace tessera {

Pass overlap();

}  // namespace tessera
