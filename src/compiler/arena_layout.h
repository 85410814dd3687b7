// SPDX-License-Identifier: Apache-2.0
// Lays out the arenas of a program and binds every block's buffers to offsets in them.
#pragma once

#include "ir/module.h"
#include "program/program.h"

namespace tessera {

void lay_out_arenas(const Module& module, Program& program);

}  // namespace tessera
