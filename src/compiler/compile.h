// SPDX-License-Identifier: Apache-2.0
// From a model's maths to a Program that any machine can run.
#pragma once

#include "compiler/training_pipeline.h"
#include "program/program.h"
#include "schedule/schedule.h"

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
  Module module;                  // after the last pass
  std::vector<Program> programs;  // by place along the pipeline; empty: not all passes ran
  Schedule schedule;
  std::vector<PassReport> passes;

  // Where there is no pipeline: the one program.
  Program& program() {
    TESSERA_CHECK(programs.size() == 1, "{} programs", programs.size());
    return programs.front();
  }
  const Program& program() const { return const_cast<Compiled*>(this)->program(); }
};

Compiled compile(Module module, const CompileOptions& options);

}  // namespace tessera
