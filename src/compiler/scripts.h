// SPDX-License-Identifier: Apache-2.0
// Writes a program's scripts: the order of routine calls in a training step, an evaluation, or a
// forward alone.
#pragma once

#include "program/program.h"

namespace tessera {

void write_scripts(Program& program);

}  // namespace tessera
