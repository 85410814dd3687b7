// SPDX-License-Identifier: Apache-2.0
#include "measure/calibration_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace tessera {
namespace {

// Grouped heads and as many keys as queries; a batch of several short rows fills a GPU as one long
// row does.
constexpr std::array kLongModels{
    CalibrationModel{"llama3-1b", 1, 1280, 20, 5, 1024, 1000, 4, 4096},
    CalibrationModel{"llama3-1b", 1, 1280, 20, 5, 1024, 1000, 1, 16384},
    CalibrationModel{"llama3-1b", 1, 1280, 20, 5, 1024, 1000, 1, 32768},
    CalibrationModel{"llama3-1b", 1, 1280, 20, 20, 1024, 1000, 1, 65536},
    CalibrationModel{"llama3-1b", 1, 768, 12, 3, 1024, 1000, 1, 131072},
    CalibrationModel{"llama3-1b", 1, 2560, 20, 5, 1024, 1000, 4, 4096},
    CalibrationModel{"llama3-1b", 1, 2560, 20, 5, 1024, 1000, 1, 16384},
    CalibrationModel{"llama3-1b", 1, 2560, 20, 5, 1024, 1000, 1, 32768},
    CalibrationModel{"llama3-1b", 1, 2560, 20, 20, 1024, 1000, 1, 65536},
    CalibrationModel{"llama3-1b", 1, 1536, 12, 3, 1024, 1000, 1, 131072},
};

}  // namespace

std::span<const CalibrationModel> long_models() { return kLongModels; }

Config config_of(const CalibrationModel& model, std::vector<std::string> settings) {
  const auto set = [&](std::string_view key, int64_t value) {
    if (value > 0) settings.push_back(fmt::format("model.{}={}", key, value));
  };
  settings.insert(settings.begin(), {fmt::format("model.preset={}", model.preset),
                                     fmt::format("train.batch={}", model.batch)});
  set("layers", model.layers);
  set("width", model.width);
  set("heads", model.heads);
  set("kv_heads", model.kv_heads);
  set("mlp_size", model.mlp_size);
  set("vocabulary", model.vocabulary);
  set("experts", model.experts);
  set("top_k", model.top_k);
  set("expert_mlp_size", model.expert_mlp_size);
  if (model.heads > 0) {
    set("head_size", model.width / model.heads / 2 * 2);
    set("context", std::max<int64_t>(model.seq, 1024));
    settings.push_back(fmt::format("train.seq={}", model.seq));
  }
  return parse_config("", "calibrate", settings);
}

}  // namespace tessera
