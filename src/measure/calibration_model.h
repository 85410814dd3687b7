// SPDX-License-Identifier: Apache-2.0
// Models that calibration trains: of a preset's family, with sizes that nobody's model has.
#pragma once

#include "config/config.h"

namespace tessera {

// Sizes of 0 are the preset's.
struct CalibrationModel {
  const char* preset;
  int64_t layers, width, heads, kv_heads, mlp_size, vocabulary, batch, seq;
  const char* axis = "";  // that of two ranks
};

// With `settings` set over it.
Config config_of(const CalibrationModel& model, std::vector<std::string> settings);

}  // namespace tessera
