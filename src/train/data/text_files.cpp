// SPDX-License-Identifier: Apache-2.0
#include "train/data/text_files.h"

#include "core/error.h"
#include "files/files_below.h"

namespace tessera {

namespace fs = std::filesystem;

std::vector<MappedFile> open_text_files(const fs::path& path) {
  std::error_code ignored;
  if (!fs::exists(path, ignored)) {
    throw user_error("no file or folder {}", path.string())
        .at("data.path")
        .help("give a text file or a folder of them, or data.source=stories for built-in text");
  }
  std::vector<MappedFile> files;
  const bool folder = fs::is_directory(path, ignored);
  for (fs::path& file : folder ? files_below(path) : std::vector<fs::path>{path}) {
    MappedFile mapped(std::move(file));
    if (!mapped.bytes().empty()) files.push_back(std::move(mapped));
  }
  if (files.empty())
    throw user_error("{} holds no text", path.string())
        .at("data.path")
        .help("give a text file or a folder of them; hidden files are not read");
  return files;
}

}  // namespace tessera
