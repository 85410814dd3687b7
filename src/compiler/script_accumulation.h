// SPDX-License-Identifier: Apache-2.0
// Whoever comes first in a script writes an accumulator, whatever shares it; everyone after adds.
// Gradients that are reduced for each microbatch begin anew behind the reduction.
#pragma once

#include "ir/module.h"
#include "program/program.h"

namespace tessera {

void decide_accumulation(const Module& module, const Program& program, Script& script);

}  // namespace tessera
