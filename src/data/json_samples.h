// SPDX-License-Identifier: Apache-2.0
// Samples from a JSON file: {"tokens": [[5, 9, 2], ...], "labels": [[9, 2, -1], ...]}. A label is
// the token that should come next at its position; a negative label is ignored; without labels the
// next tokens are used.
#pragma once

#include <filesystem>

#include "data/row_samples.h"

namespace tessera {

// Samples of `seq` tokens: a longer row is read in consecutive windows. 0: as long as the longest
// row. Tokens and labels must be below `vocabulary`.
RowSamples json_samples(const std::filesystem::path& path, int64_t vocabulary, int64_t seq = 0);

}  // namespace tessera
