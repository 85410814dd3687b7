// SPDX-License-Identifier: Apache-2.0
// The files of a folder and of the folders in it, by name; hidden ones are left out.
#pragma once

#include <filesystem>
#include <vector>

namespace tessera {

std::vector<std::filesystem::path> files_below(const std::filesystem::path& folder);

}  // namespace tessera
