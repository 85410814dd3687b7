// SPDX-License-Identifier: Apache-2.0
// A file that is read by calls to the system, not through memory: bytes that the disk does not give
// are a StorageError that names the file and the byte, where a mapped file would end the process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

namespace tessera {

class FileReader {
 public:
  explicit FileReader(std::filesystem::path path);
  ~FileReader();
  FileReader(const FileReader&) = delete;
  FileReader& operator=(const FileReader&) = delete;

  const std::filesystem::path& path() const { return path_; }
  int64_t bytes() const { return bytes_; }
  void read(int64_t offset, std::span<std::byte> to) const;  // from any thread

 private:
  std::filesystem::path path_;
  int file_ = -1;
  int64_t bytes_ = 0;
};

std::string read_whole_file(const std::filesystem::path& path);

}  // namespace tessera
