// SPDX-License-Identifier: Apache-2.0
// How the training step that a config asks for is compiled.
#pragma once

#include "compiler/compile.h"
#include "config/config.h"
#include "config/optimizer_of_config.h"
#include "config/plan_of_config.h"

namespace tessera {

inline CompileOptions training_options(const Config& config, Plan plan, int threads_per_rank) {
  return {.training = true,
          .optimizer = optimizer_of_config(config),
          .plan = std::move(plan),
          .profile = profile_of_config(config, threads_per_rank),
          .microbatches = static_cast<int>(config.train.microbatches)};
}

}  // namespace tessera
