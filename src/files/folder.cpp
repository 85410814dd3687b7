// SPDX-License-Identifier: Apache-2.0
#include "files/folder.h"

#include <glob.h>

#include <algorithm>
#include <iterator>

#include "core/error.h"
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

std::vector<fs::path> files_named(const std::string& path) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) return files_below(path);
  if (fs::exists(path, ignored)) return {path};
  glob_t found{};
  ::glob(path.c_str(), GLOB_BRACE | GLOB_TILDE, nullptr, &found);
  std::vector<fs::path> files;
  for (size_t i = 0; i < found.gl_pathc; ++i) {
    const fs::path match = found.gl_pathv[i];
    if (!fs::is_directory(match, ignored)) {
      files.push_back(match);
      continue;
    }
    std::vector<fs::path> below = files_below(match);
    std::move(below.begin(), below.end(), std::back_inserter(files));
  }
  ::globfree(&found);
  return files;
}

void make_folder(const std::filesystem::path& folder, const std::string& advice) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error)
    throw user_error("cannot create the folder {}: {}", folder.string(), errno_text(error.value()))
        .help(advice);
}

}  // namespace tessera
