// SPDX-License-Identifier: Apache-2.0
// A folder whose files are read by names that others may have chosen: no name leads out of it, by
// "..", by a link or by a mount of processes. The kernel sees to it (openat2).
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace tessera {

struct FileState {
  int64_t bytes = 0;
  uint64_t number = 0;     // of the file on its disk: another one under the same name has another
  double modified_at = 0;  // seconds since 1970
};

class ClosedFolder {
 public:
  // A UserError where there is no such folder. The folder itself may be a link.
  explicit ClosedFolder(const std::filesystem::path& folder);
  ClosedFolder(ClosedFolder&& other) noexcept;
  ClosedFolder& operator=(ClosedFolder&& other) noexcept;
  ~ClosedFolder();

  // At most `most` bytes from `begin` on. Nothing where no regular file has the name.
  std::optional<std::string> read(const std::string& name, int64_t begin, int64_t most) const;
  std::optional<FileState> state_of(const std::string& name) const;

  // Names of what lies in it, at most `most`; in no order, hidden ones left out.
  std::vector<std::string> names(size_t most) const;
  // Nothing where no folder has the name, or a link does.
  std::optional<ClosedFolder> folder(const std::string& name) const;

 private:
  explicit ClosedFolder(int descriptor) : descriptor_(descriptor) {}
  int open_beneath(const std::string& name, uint64_t flags) const;  // -1: none
  int open_file(const std::string& name, FileState& state) const;   // -1: none

  int descriptor_;
};

}  // namespace tessera
