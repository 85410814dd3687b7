// SPDX-License-Identifier: Apache-2.0
// Decides which call writes an accumulator and which ones add to it: the first in the script
// writes, whatever block it belongs to, and all later ones add. Gradients that are reduced for each
// microbatch start again after the reduction.
#pragma once

#include "ir/module.h"
#include "program/program.h"

namespace tessera {

void decide_accumulation(const Module& module, const Program& program, Script& script);

}  // namespace tessera
