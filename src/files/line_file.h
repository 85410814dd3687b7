// SPDX-License-Identifier: Apache-2.0
// A file of lines, each written whole as soon as it is known.
#pragma once

#include <string>
#include <utility>

#include "files/append_file.h"

namespace tessera {

class LineFile {
 public:
  // A new file, or behind an old one's lines.
  LineFile(std::filesystem::path path, bool append) : file_(std::move(path), append) {}

  void write(std::string line) { file_.write(std::move(line) + '\n'); }  // without the newline

 private:
  AppendFile file_;
};

}  // namespace tessera
