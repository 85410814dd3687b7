// SPDX-License-Identifier: Apache-2.0
// Models for calibration: of a preset's family, with sizes of no real model.
#pragma once

#include <span>

#include "config/config.h"

namespace tessera {

// Sizes of 0 are the preset's.
struct CalibrationModel {
  const char* preset;
  int64_t layers, width, heads, kv_heads, mlp_size, vocabulary, batch, seq;
  const char* axis = "";  // that of two ranks
  int64_t experts = 0, top_k = 0, expert_mlp_size = 0;
};

// Of a GPU, for attention alone: heads of 64 and of 128, from 4,096 to 131,072 tokens.
std::span<const CalibrationModel> long_models();

// With `settings` set over it.
Config config_of(const CalibrationModel& model, std::vector<std::string> settings);

}  // namespace tessera
