// SPDX-License-Identifier: Apache-2.0
// A regular file, open to be read. A folder, a pipe or a device is refused, and never waited for.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

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

}  // namespace tessera
