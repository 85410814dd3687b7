// SPDX-License-Identifier: Apache-2.0
// A small model of a program's own for tests: attention without an mlp, one table for both ends.
#pragma once

#include <optional>

#include "models/own_model.h"

namespace tessera {

// How it differs from what was asked for, or from one that is sound.
struct OwnAttention {
  int64_t layers = 3;
  bool gelu = true;  // of what attention gives; else relu
  bool loss = true;
  std::optional<int64_t> seq = {};    // instead of the request's
  std::optional<DType> compute = {};  // the same
  const char* labels = "labels";
};

OwnModel own_attention(OwnAttention options = {});

}  // namespace tessera
