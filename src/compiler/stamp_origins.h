// SPDX-License-Identifier: Apache-2.0
// Completes the origins of values after a pass: who made them, and which line of the model they
// come from.
#pragma once

#include <string_view>

#include "ir/module.h"

namespace tessera {

// A value without a line has that of the values that it is computed from; one of a step, as totals
// of the loss, that of what is returned under its name.
void stamp_origins(Module& module, std::string_view pass);

}  // namespace tessera
