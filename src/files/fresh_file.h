// SPDX-License-Identifier: Apache-2.0
// A temporary file that is this process's own: what a killed process left under its name is
// removed, and a link that somebody put there is not followed.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>

namespace tessera {

// Open for writing; -1, and errno says why, where it cannot be.
inline int open_fresh_file(const std::filesystem::path& path, int more_flags = 0) {
  ::unlink(path.c_str());
  return ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC | more_flags,
                0644);
}

}  // namespace tessera
