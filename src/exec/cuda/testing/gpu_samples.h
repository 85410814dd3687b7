// SPDX-License-Identifier: Apache-2.0
// Calls that reach what the ops' own samples do not: rows that threads share in every way that the
// CUDA kernels know, more rows than they have blocks, runs of one index over several chunks.
#pragma once

#include "ops/testing/conformance_case.h"

namespace tessera {

std::vector<ConformanceCase> gpu_samples();

}  // namespace tessera
