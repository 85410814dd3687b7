// SPDX-License-Identifier: Apache-2.0
// The simulated step of a run with every slice kept, and its slices as columns.
#pragma once

#include "studio/answers.h"
#include "studio/simulated_step.h"

namespace tessera {

// A UserError where the step has more slices than a page can take.
SimulatedStep simulate_slices(const Config& config, const Cluster& cluster, const RunSpec& spec);

// Columns: begin, length, instruction, lane, microbatch and perhaps block.
Answer slices_of(const SimulatedStep& step, bool with_blocks);

}  // namespace tessera
