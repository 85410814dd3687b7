// SPDX-License-Identifier: Apache-2.0
// The files that a path of text stands for: itself, or every file below a folder, sorted by path;
// hidden entries (`.git`) and empty files are left out. They are memory-mapped, so their size does
// not count as memory.
#pragma once

#include <filesystem>
#include <vector>

#include "files/mapped_file.h"

namespace tessera {

// At least one; a UserError where there is none.
std::vector<MappedFile> open_text_files(const std::filesystem::path& path);

}  // namespace tessera
