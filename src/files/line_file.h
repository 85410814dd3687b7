// SPDX-License-Identifier: Apache-2.0
// A file of lines, each written whole as soon as it is known, so that a killed run loses none.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace tessera {

class LineFile {
 public:
  // A new file, or behind an old one's lines.
  LineFile(std::filesystem::path path, bool append);
  ~LineFile();
  LineFile(const LineFile&) = delete;
  LineFile& operator=(const LineFile&) = delete;

  void write(std::string line);  // without the newline

 private:
  std::filesystem::path path_;
  int file_ = -1;
};

}  // namespace tessera
