// SPDX-License-Identifier: Apache-2.0
#include "files/list_folder.h"

#include "files/errno_text.h"
#include "files/storage_error.h"

namespace tessera {

namespace fs = std::filesystem;

std::vector<fs::path> list_folder(const fs::path& folder) {
  std::vector<fs::path> entries;
  std::error_code error;
  fs::directory_iterator entry(folder, error);
  if (error == std::errc::no_such_file_or_directory) return entries;
  while (!error && entry != fs::directory_iterator()) {
    entries.push_back(entry->path());
    entry.increment(error);
  }
  if (error)
    throw StorageError(
        fmt::format("cannot list {}: {}", folder.string(), errno_text(error.value())),
        "check the path, its permissions, and that its disk is mounted and answers");
  return entries;
}

}  // namespace tessera
