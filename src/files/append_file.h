// SPDX-License-Identifier: Apache-2.0
// A file that grows record by record; each is written whole as soon as it is known, so that a
// killed run loses none.
#pragma once

#include <filesystem>
#include <string_view>

namespace tessera {

class AppendFile {
 public:
  // A new file, or behind what an old one holds.
  AppendFile(std::filesystem::path path, bool append);
  ~AppendFile();
  AppendFile(const AppendFile&) = delete;
  AppendFile& operator=(const AppendFile&) = delete;

  void write(std::string_view record);

 private:
  std::filesystem::path path_;
  int file_ = -1;
};

}  // namespace tessera
