// SPDX-License-Identifier: Apache-2.0
// The learning rate of a step, a pure function of the step: a linear warm-up, then cosine, linear,
// warm-up-stable-decay (wsd) or constant. Steps count from 0; the first step never has a rate of 0.
// No schedule decays during the warm-up: where the warm-up overlaps the decay of wsd, the decay
// starts after it, from the peak, and still ends with the run.
#pragma once

#include <cstdint>
#include <string>

#include "config/config.h"

namespace tessera {

double learning_rate_at(const TrainConfig& train, int64_t step);

// A note for a warm-up that is longer than the run; empty: it is not longer.
std::string warmup_note(const TrainConfig& train);

}  // namespace tessera
