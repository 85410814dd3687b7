// SPDX-License-Identifier: Apache-2.0
#include "files/files_below.h"

#include <algorithm>

#include "core/error.h"
#include "files/errno_text.h"

namespace tessera {

namespace fs = std::filesystem;

std::vector<fs::path> files_below(const fs::path& folder) {
  std::vector<fs::path> files;
  try {
    auto entry = fs::recursive_directory_iterator(folder);
    for (; entry != fs::recursive_directory_iterator(); ++entry) {
      if (entry->path().filename().string().starts_with('.'))
        entry.disable_recursion_pending();
      else if (entry->is_regular_file())
        files.push_back(entry->path());
    }
  } catch (const fs::filesystem_error& error) {
    throw user_error("cannot read folder {}: {}", folder.string(), errno_text(error.code().value()))
        .help("check the path and its permissions");
  }
  // Compared as text, so that the order does not depend on how a platform compares paths.
  std::sort(files.begin(), files.end(),
            [](const fs::path& a, const fs::path& b) { return a.string() < b.string(); });
  return files;
}

}  // namespace tessera
