// SPDX-License-Identifier: Apache-2.0
// From a planned module to a Program: lays out the arenas, binds every block's buffers and writes
// the scripts.
#pragma once

#include "ir/module.h"
#include "program/program.h"

namespace tessera {

struct EmitProgramOptions {
  int microbatches = 1;
  int threads = 1;  // that plan_memory sized workspaces for
  int shard_axis = -1;
  int zigzag = 1;
};

Program emit_program(const Module& module, const EmitProgramOptions& options);

}  // namespace tessera
