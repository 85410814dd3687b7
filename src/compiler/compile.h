// SPDX-License-Identifier: Apache-2.0
// From a model's maths to a Program that any machine can run.
#pragma once

#include "compiler/training_pipeline.h"
#include "program/program.h"

namespace tessera {

struct CompileOptions {
  bool training = true;  // false: forward only (generation)
  OptimizerOptions optimizer = {};
  Plan plan = {};  // how the step is spread over ranks; by default there is one
  DeviceProfile profile = {};
  int microbatches = 1;
  PipelineOptions pipeline = {};
};

struct Compiled {
  Module module;  // after the last pass
  Program program;
  std::vector<PassReport> passes;
};

Compiled compile(Module module, const CompileOptions& options);

}  // namespace tessera
