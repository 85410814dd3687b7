// SPDX-License-Identifier: Apache-2.0
// Compiles the step of a run: builds its model and runs the compiler's passes over it.
#pragma once

#include <optional>

#include "compiler/compile.h"
#include "config/run_spec.h"

namespace tessera {

struct CompileStepOptions {
  bool training = true;  // false: the forward alone
  PipelineOptions pipeline = {};
  bool check =
      true;  // verify after each pass and check the programs; only without where they never run
  std::optional<double> flops_per_host_byte = {};  // as in DeviceProfile; nothing: as devices have
};

Compiled compile(const RunSpec& spec, const CompileStepOptions& options = {});

}  // namespace tessera
