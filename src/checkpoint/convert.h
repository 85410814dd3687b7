// SPDX-License-Identifier: Apache-2.0
// A checkpoint in another form: as one file, as a folder to resume from, or its weights alone.
#pragma once

#include <filesystem>
#include <optional>

#include "checkpoint/state_source.h"

namespace tessera {

struct ConvertOptions {
  // Weights alone, in this dtype, from the most exact copy there is; none: every state as it is.
  std::optional<DType> weights = {};
  bool averaged = false;  // the moving average instead of the weights
};

// Whether `to` names one file, and no folder.
bool to_one_file(const std::filesystem::path& to);

// To one file where `to` ends with .safetensors, else into the checkpoints of the run's folder
// `to`. Returns what was written.
std::filesystem::path convert_checkpoint(const StateSource& from, const std::filesystem::path& to,
                                         const ConvertOptions& options);

}  // namespace tessera
