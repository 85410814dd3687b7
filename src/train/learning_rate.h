// SPDX-License-Identifier: Apache-2.0
// The learning rate of a step, a pure function of the step: a linear warm-up, then cosine, linear,
// warm-up-stable-decay (wsd) or constant. Steps count from 0; the first step never has a rate of 0.
#pragma once

#include <cstdint>

#include "train/config.h"

namespace tessera {

double learning_rate_at(const TrainConfig& train, int64_t step);

}  // namespace tessera
