// SPDX-License-Identifier: Apache-2.0
// Planned memory against what kernels touch: every arena of every rank is filled with a pattern, a
// step runs, and the pattern must be gone up to the arena's end, and nothing written after it.
#pragma once

#include "plan_cases.h"

namespace tessera {

void expect_memory_to_the_byte(const PlanCase& plan);

}  // namespace tessera
