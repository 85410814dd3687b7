// SPDX-License-Identifier: Apache-2.0
// The part of the verifier that looks at blocks: what one returns the next takes, and ties name a
// parameter that exists and has an owner.
#pragma once

#include "ir/module.h"

namespace tessera {

void verify_blocks(const Module& module);

}  // namespace tessera
