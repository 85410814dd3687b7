// SPDX-License-Identifier: Apache-2.0
// A regular file, open to be read. A folder, a pipe or a device is refused, and never waited for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <utility>

namespace tessera {

class RegularFile {
 public:
  RegularFile(RegularFile&& other) noexcept;
  RegularFile& operator=(RegularFile&&) = delete;
  ~RegularFile();

  int descriptor() const { return descriptor_; }
  int64_t bytes() const { return bytes_; }

 private:
  RegularFile(int descriptor, const std::filesystem::path& path);
  friend RegularFile open_regular_file(const std::filesystem::path& path);
  friend std::optional<RegularFile> find_regular_file(const std::filesystem::path& path);

  int descriptor_;
  int64_t bytes_ = 0;
};

// A UserError where the path names none, a StorageError where the disk does not answer.
RegularFile open_regular_file(const std::filesystem::path& path);
// Nothing where there is no such file. One that may be there and cannot be opened is a
// StorageError.
std::optional<RegularFile> find_regular_file(const std::filesystem::path& path);

// A file that is read by calls to the system, not through memory: bytes that the disk does not give
// are a StorageError that names the file and the byte, where a mapped file would end the process.
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
