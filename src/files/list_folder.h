// SPDX-License-Identifier: Apache-2.0
// What a folder holds. A listing that fails is never an empty one.
#pragma once

#include <filesystem>
#include <vector>

namespace tessera {

// In no order. Empty where there is no such folder; a StorageError where it cannot be listed to its
// end.
std::vector<std::filesystem::path> list_folder(const std::filesystem::path& folder);

}  // namespace tessera
