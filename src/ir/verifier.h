// SPDX-License-Identifier: Apache-2.0
// Checks the invariants of a module's form; run after construction, parsing and every pass. A
// breach is a UserError where a user's own model can cause it, and our own bug (InternalError)
// where only a pass can.
#pragma once

#include "ir/module.h"

namespace tessera {

void verify(const Module& module);

}  // namespace tessera
