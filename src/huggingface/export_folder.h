// SPDX-License-Identifier: Apache-2.0
// Writes weights as a folder that transformers loads: config.json and safetensors, in one file or
// in several with an index. config.json is written last, so a folder that has it is complete.
#pragma once

#include <filesystem>
#include <optional>

#include "checkpoint/state_source.h"
#include "huggingface/model_json.h"
#include "models/model_config.h"

namespace tessera {

struct ExportOptions {
  std::optional<DType> dtype = {};         // none: each tensor as it is stored
  bool averaged = false;                   // the moving average instead of the weights
  TextEnds ends = {};                      // for config.json
  int64_t shard_bytes = int64_t{5} << 30;  // maximum size of a file, unless one tensor is larger
};

struct ExportSummary {
  int64_t files = 0, tensors = 0, bytes = 0;
};

// `model` is the model of the weights. The folder must not hold a model yet.
ExportSummary export_folder(const StateSource& from, const ModelConfig& model,
                            const std::filesystem::path& folder, const ExportOptions& options);

}  // namespace tessera
