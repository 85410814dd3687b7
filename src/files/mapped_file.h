// SPDX-License-Identifier: Apache-2.0
// A file mapped read-only into memory. A missing or unreadable file is a UserError.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

namespace tessera {

class MappedFile {
 public:
  explicit MappedFile(std::filesystem::path path);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::span<const std::byte> bytes() const { return {data_, size_}; }

 private:
  std::filesystem::path path_;
  const std::byte* data_ = nullptr;
  size_t size_ = 0;
};

// A mapped file whose bytes the disk does not give, or which somebody has made shorter, would end
// the process by SIGBUS without a word. With this it ends with a word: which file, which byte.
// No caller can forget it, and no reader pays for it.
// For the first lines of main; the process then ends with that status.
void explain_mapping_faults(int exit_status);

}  // namespace tessera
