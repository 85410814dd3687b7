// SPDX-License-Identifier: Apache-2.0
// Measured slices as further lanes of the columns that a simulated step has.
#pragma once

#include <map>
#include <vector>

#include "studio/answers.h"
#include "studio/runs/traced_step.h"

namespace tessera {

using InstructionNumbers = std::map<const Instruction*, uint32_t>;

// The number that the answer to `slices` gives each instruction of the step.
InstructionNumbers number_instructions(const std::vector<Program>& programs, const Json& slices);

// Adds a rank with "measured": true to the answer's list, its lanes, and its slices to every
// column, from the step's begin on; of very many ranks the first. Returns how many.
int64_t add_measured_lanes(Answer& answer, const TracedStep& traced,
                           const std::vector<Program>& programs, const InstructionNumbers& numbers);

}  // namespace tessera
