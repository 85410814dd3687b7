// SPDX-License-Identifier: Apache-2.0
// Folders: what one holds, the files below it, and making one.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace tessera {

// A listing that fails is never an empty one. In no order. Empty where there is no such folder; a
// StorageError where it cannot be listed to its end.
std::vector<std::filesystem::path> list_folder(const std::filesystem::path& folder);

// The files of a folder and of the folders in it, by name; hidden ones are left out.
std::vector<std::filesystem::path> files_below(const std::filesystem::path& folder);

// The files that a user names: the file itself, those below a folder, or those that match a glob
// and those below folders that do, in sorted order. Empty where there is none.
std::vector<std::filesystem::path> files_named(const std::string& path);

// A folder and those above it, where they are not there yet.
// A UserError with `advice` where the system refuses.
void make_folder(const std::filesystem::path& folder,
                 const std::string& advice = "choose another with --out");

}  // namespace tessera
