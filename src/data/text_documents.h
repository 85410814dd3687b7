// SPDX-License-Identifier: Apache-2.0
// The documents of a path: a file, the files that match a glob, or every file below a folder,
// sorted by path; hidden entries (`.git`) and empty files are skipped. A text file is one document
// and memory-mapped, so it takes no memory; a .jsonl file is one document per line. The texts of
// .jsonl files and of packed files are held in memory.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "files/mapped_file.h"

namespace tessera {

class TextDocuments {
 public:
  // `field` of the lines of .jsonl files holds the document. A UserError if there is no text, or a
  // file is not text.
  explicit TextDocuments(const std::string& path, std::string field = "text");

  const std::vector<std::string_view>& all() const { return documents_; }  // none is empty

 private:
  void add(const std::filesystem::path& path);
  void add_packed(const std::filesystem::path& path);
  void hold(std::string_view text);

  std::string field_;
  std::vector<MappedFile> files_;
  std::vector<std::vector<char>> blocks_;  // of held texts; none grows beyond its capacity
  int64_t held_bytes_ = 0, most_held_bytes_;
  std::vector<std::string_view> documents_;
};

}  // namespace tessera
