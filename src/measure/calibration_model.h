// SPDX-License-Identifier: Apache-2.0
// Models for calibration: of a preset's family, with sizes of no real model.
#pragma once

#include "config/config.h"

namespace tessera {

// Sizes of 0 are the preset's.
struct CalibrationModel {
  const char* preset;
  int64_t layers, width, heads, kv_heads, mlp_size, vocabulary, batch, seq;
  const char* axis = "";  // that of two ranks
  int64_t experts = 0, top_k = 0, expert_mlp_size = 0;
};

// With `settings` set over it.
Config config_of(const CalibrationModel& model, std::vector<std::string> settings);

}  // namespace tessera
