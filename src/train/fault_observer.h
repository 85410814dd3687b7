// SPDX-License-Identifier: Apache-2.0
// Fault points inside a step: called before instructions, so that a step without faults has none.
#pragma once

#include "exec/mesh_executor.h"
#include "system/fault_plan.h"

namespace tessera {

// Looks at `faults` before each instruction. `steps` are the steps done; it and the faults must
// outlive what is returned.
RankFault faults_in_steps(FaultPlan& faults, const int64_t& steps);

// Fault points between steps, for each rank that this process runs. `faults` may be null.
void inject_faults(FaultPlan* faults, FaultPhase phase, Executor& executor, int64_t step);

}  // namespace tessera
