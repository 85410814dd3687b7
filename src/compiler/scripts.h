// SPDX-License-Identifier: Apache-2.0
// Writes a program's scripts: the order of routine calls in a training step, an evaluation, or a
// forward alone.
#pragma once

#include "ir/module.h"
#include "program/program.h"

namespace tessera {

// The program must have its classes and blocks.
void write_scripts(const Module& module, Program& program);

// The blocks whose flat weights a call reads, or whose gradients it writes: itself, and the owners
// of what it ties.
std::vector<int> weights_read(const Module& module, const Program& program, const ScriptCall& call);
std::vector<int> gradients_written(const Module& module, const ScriptCall& call);

// Gradients of the class are reduced for every microbatch, not only the last.
bool reduces_every_microbatch(const BlockClass& block_class);

}  // namespace tessera
