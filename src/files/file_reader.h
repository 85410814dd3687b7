// SPDX-License-Identifier: Apache-2.0
// A file that is read by calls to the system, not through memory: bytes that the disk does not give
// are a StorageError that names the file and the byte, where a mapped file would end the process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <utility>

#include "files/regular_file.h"

namespace tessera {

class FileReader {
 public:
  explicit FileReader(const std::filesystem::path& path)
      : FileReader(path, open_regular_file(path)) {}
  FileReader(std::filesystem::path path, RegularFile file)
      : path_(std::move(path)), file_(std::move(file)) {}

  const std::filesystem::path& path() const { return path_; }
  int64_t bytes() const { return file_.bytes(); }
  void read(int64_t offset, std::span<std::byte> to) const;  // from any thread

 private:
  std::filesystem::path path_;
  RegularFile file_;
};

std::string read_whole_file(const std::filesystem::path& path);

}  // namespace tessera
