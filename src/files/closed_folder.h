// SPDX-License-Identifier: Apache-2.0
// A folder whose files are read by names that others may have chosen: no name leads out of it, by
// "..", by a link or by a mount of processes. The kernel sees to it (openat2).
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace tessera {

class ClosedFolder {
 public:
  // A UserError where there is no such folder. The folder itself may be a link.
  explicit ClosedFolder(const std::filesystem::path& folder);
  ClosedFolder(ClosedFolder&& other) noexcept;
  ClosedFolder& operator=(ClosedFolder&&) = delete;
  ~ClosedFolder();

  // At most `most` bytes from `begin` on. Nothing where no regular file has the name.
  std::optional<std::string> read(const std::string& name, int64_t begin, int64_t most) const;
  std::optional<int64_t> bytes_of(const std::string& name) const;

 private:
  int open_file(const std::string& name, int64_t& bytes) const;  // -1: none

  int descriptor_;
};

}  // namespace tessera
