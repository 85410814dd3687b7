// SPDX-License-Identifier: Apache-2.0
// A small model of the same shape family, with a batch to match, that a plan fits as it fits the
// large one: so that a plan for 64 ranks can be proved on a laptop.
#pragma once

#include "mesh/plan.h"
#include "models/model_config.h"

namespace tessera {

struct ShrunkModel {
  ModelConfig model;
  BatchShape microbatch;
};

ShrunkModel shrink_model(const ModelConfig& model, const Plan& plan);

}  // namespace tessera
