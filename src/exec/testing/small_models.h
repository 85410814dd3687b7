// SPDX-License-Identifier: Apache-2.0
// One small model of each family, for tests that need every op at work: biases, gelu, tied and
// untied heads, grouped heads, head size apart from width / heads, normalised heads.
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

  Module build(DType compute, int64_t batch, HeadKind head = HeadKind::Loss) const;
};

std::vector<SmallModel> small_models();
SmallModel small_model(const std::string& name);

}  // namespace tessera
