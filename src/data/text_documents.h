// SPDX-License-Identifier: Apache-2.0
// The documents of a path: the file itself, or every file below a folder, sorted by path; hidden
// entries (`.git`) and empty files are skipped. A text file is one document and memory-mapped, so
// it takes no memory; a .jsonl file is one document per line, and its texts are held in memory.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "files/mapped_file.h"

namespace tessera {

class TextDocuments {
 public:
  // A UserError if there is no text, or a file is not text.
  explicit TextDocuments(const std::filesystem::path& path);

  const std::vector<std::string_view>& all() const { return documents_; }  // none is empty

 private:
  void add(MappedFile file);

  std::vector<MappedFile> files_;
  std::vector<std::vector<char>> texts_;  // of .jsonl files; views of a vector stay when it moves
  std::vector<std::string_view> documents_;
};

}  // namespace tessera
