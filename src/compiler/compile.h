// SPDX-License-Identifier: Apache-2.0
// From a model's maths to a Program that any machine can run.
#pragma once

#include <functional>

#include "compiler/training_pipeline.h"
#include "program/program.h"
#include "schedule/schedule.h"

namespace tessera {

struct CompileOptions {
  bool training = true;  // false: forward only (generation, evaluation)
  OptimizerOptions optimizer = {};
  Plan plan = {};  // how the step is spread over ranks; by default there is one
  DeviceProfile profile = {};
  int microbatches = 1;
  PipelineOptions pipeline = {};
  bool check =
      true;  // verify after each pass and check the programs; only without where they never run
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

// How plan.recompute = fit chooses: the smallest number of values, from 1 to `all`, with which
// every rank fits, by bisection; with `all` of them every rank does.
int least_values(int all, const std::function<bool(int)>& fits);
// The number of values that it recomputed where it was asked for all of them.
int rebuilt_values(const Compiled& compiled);
inline constexpr Recompute kAllValues{.kind = RecomputeKind::Values, .values = 1 << 20};
int64_t most_bytes(const std::vector<Program>& programs);  // of the fullest rank

}  // namespace tessera
