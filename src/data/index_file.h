// SPDX-License-Identifier: Apache-2.0
// A DocumentIndex in a file, so that a restart need not read the texts again. It is this machine's
// own: numbers are as in memory, and a digest tells whether it is whole.
#pragma once

#include <filesystem>
#include <optional>

#include "data/document_index.h"

namespace tessera {

void write_index(const std::filesystem::path& path, const DocumentIndex& index);
// Nothing where there is no whole one.
std::optional<DocumentIndex> find_index(const std::filesystem::path& path);

}  // namespace tessera
