// SPDX-License-Identifier: Apache-2.0
// A checkpoint in another form: as one file, as a folder to resume from, or only its weights.
#pragma once

#include <filesystem>
#include <optional>

#include "checkpoint/state_source.h"

namespace tessera {

struct ConvertOptions {
  // Only the weights, in this dtype, from the most precise copy; none: every state unchanged.
  std::optional<DType> weights = {};
  bool averaged = false;  // the moving average instead of the weights
};

// Whether `to` names one file, not a folder.
bool to_one_file(const std::filesystem::path& to);

// Writes one file if `to` ends with .safetensors, otherwise into the checkpoints of the run's
// folder `to`. Returns what was written.
std::filesystem::path convert_checkpoint(const StateSource& from, const std::filesystem::path& to,
                                         const ConvertOptions& options);

}  // namespace tessera
