// SPDX-License-Identifier: Apache-2.0
// The optimizer that a config asks for.
#pragma once

#include "config/config.h"
#include "ir/optimizer.h"

namespace tessera {

inline OptimizerOptions optimizer_of_config(const Config& config) {
  const TrainConfig& train = config.train;
  return {.op = find_optimizer(train.optimizer)->op,
          .settings = train.optimizer_settings,
          .weight_decay = train.weight_decay,
          .clip_norm = train.clip_norm,
          .ema_decay = train.ema_decay,
          .rounding_seed = train.seed};
}

}  // namespace tessera
