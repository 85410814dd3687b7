// SPDX-License-Identifier: Apache-2.0
// Samples from a JSON file: {"tokens": [[5, 9, 2], ...], "labels": [[9, 2, -1], ...]}. A label is
// the token that should follow at its place, a negative one none; without labels they are the next
// tokens.
#pragma once

#include <filesystem>

#include "train/data/row_samples.h"

namespace tessera {

// As long as the longest row. Tokens and labels must be below `vocabulary`.
RowSamples json_samples(const std::filesystem::path& path, int64_t vocabulary);

}  // namespace tessera
