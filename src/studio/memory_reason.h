// SPDX-License-Identifier: Apache-2.0
// Why a step does not fit, in one sentence of its figures, and which knobs would help.
#pragma once

#include <string>

#include "studio/simulated_step.h"

namespace tessera {

// "activations take 85.4 GB of the 97.6 GB of each rank; a microbatch has 8 samples of 8192 tokens
// on a rank. Try more microbatches (512 of 1 sample) or recompute = fit."
std::string memory_reason(const SimulatedStep& step);

}  // namespace tessera
