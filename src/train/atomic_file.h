// SPDX-License-Identifier: Apache-2.0
// A file that appears whole or not at all: written beside as `<path>.tmp`, flushed to disk, then
// renamed. Until `commit` the old file stands untouched; without it, or after an error, the partial
// file is removed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>

namespace tessera {

class AtomicFile {
 public:
  // `expected_bytes` is named in the error when the disk fills; 0 when unknown.
  explicit AtomicFile(std::filesystem::path path, int64_t expected_bytes = 0);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text);
  int64_t written_bytes() const { return written_bytes_; }
  void commit();

 private:
  [[noreturn]] void give_up(int error);

  std::filesystem::path path_, partial_;
  int64_t expected_bytes_;
  int64_t written_bytes_ = 0;
  int file_ = -1;
};

void write_file_atomically(const std::filesystem::path& path, std::string_view text);

}  // namespace tessera
