// SPDX-License-Identifier: Apache-2.0
// From a planned module to a Program: lays out the arenas, binds every block's buffers and writes
// the scripts.
#pragma once

#include "compiler/message_times.h"
#include "ir/module.h"
#include "mesh/plan.h"
#include "program/program.h"
#include "schedule/schedule.h"

namespace tessera {

struct EmitProgramOptions {
  int threads = 1;  // that plan_memory sized workspaces for
  int pipeline_axis = -1;
  int zigzag = 1;
  Recompute recompute = {};
  bool hold_runs = true;  // as in Stages
};

// Of the ranks at one place along the pipeline.
Program emit_program(const Module& module, const Schedule& schedule,
                     const ScheduleMessages& messages, int pipeline_rank,
                     const EmitProgramOptions& options);

}  // namespace tessera
