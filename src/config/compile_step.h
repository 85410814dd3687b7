// SPDX-License-Identifier: Apache-2.0
// Compiles the step of a run: builds its model and runs the compiler's passes over it.
#pragma once

#include "compiler/compile.h"
#include "config/run_spec.h"

namespace tessera {

struct CompileStepOptions {
  bool training = true;  // false: the forward alone
  PipelineOptions pipeline = {};
  bool check =
      true;  // run the static check of the programs; leave it out only where they are never run
};

Compiled compile(const RunSpec& spec, const CompileStepOptions& options = {});

}  // namespace tessera
