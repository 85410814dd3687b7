// SPDX-License-Identifier: Apache-2.0
// Shared by gelu and its gradient. Flops count each + - * / and each exp, tanh and erf once.
#pragma once

#include "ir/op_def.h"

namespace tessera {

bool gelu_uses_tanh(const OpCall& call);  // attribute approximation = none | tanh

}  // namespace tessera
