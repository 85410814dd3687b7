// SPDX-License-Identifier: Apache-2.0
// One small model of each family, for tests that need every op at work: biases, gelu, tied and
// untied heads, grouped heads, head size apart from width / heads, normalised heads; and a mixture
// of experts whose pool has rows to spare.
#pragma once

#include <string>
#include <vector>

#include "ir/module.h"
#include "models/build_model.h"

namespace tessera {

struct SmallModel {
  std::string name;
  ModelConfig config;
  int64_t seq = 1;

  Module build(Precision precision, int64_t batch, HeadKind head = HeadKind::Loss) const;
};

// All that a model can be trained in.
inline const std::vector<Precision> kPrecisions{
    DType::Fp64, DType::Fp32, DType::Bf16, {DType::Bf16, true}};

std::vector<SmallModel> small_models();
SmallModel small_model(const std::string& name);

}  // namespace tessera
