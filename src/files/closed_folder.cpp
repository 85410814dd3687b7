// SPDX-License-Identifier: Apache-2.0
#include "files/closed_folder.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "core/error.h"
#include "files/storage_error.h"

namespace tessera {

ClosedFolder::ClosedFolder(const std::filesystem::path& folder)
    : descriptor_(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)) {
  if (descriptor_ < 0)
    throw user_error("cannot open the folder {}: {}", folder.string(), errno_text(errno))
        .help("check the path and its permissions");
}

ClosedFolder::ClosedFolder(ClosedFolder&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)) {}

ClosedFolder::~ClosedFolder() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

int ClosedFolder::open_file(const std::string& name, int64_t& bytes) const {
  open_how how{};
  how.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  const long file = ::syscall(SYS_openat2, descriptor_, name.c_str(), &how, sizeof how);
  if (file < 0) return -1;
  struct stat state {};
  if (::fstat(static_cast<int>(file), &state) != 0 || !S_ISREG(state.st_mode)) {
    ::close(static_cast<int>(file));
    return -1;
  }
  bytes = state.st_size;
  return static_cast<int>(file);
}

std::optional<std::string> ClosedFolder::read(const std::string& name, int64_t begin,
                                              int64_t most) const {
  int64_t bytes = 0;
  const int file = open_file(name, bytes);
  if (file < 0) return {};
  std::string text(static_cast<size_t>(std::clamp<int64_t>(bytes - begin, 0, most)), '\0');
  size_t filled = 0;
  while (filled < text.size()) {
    const ssize_t count = ::pread(file, text.data() + filled, text.size() - filled,
                                  begin + static_cast<int64_t>(filled));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;  // cut short meanwhile, or a disk that does not answer
    filled += static_cast<size_t>(count);
  }
  ::close(file);
  text.resize(filled);
  return text;
}

std::optional<int64_t> ClosedFolder::bytes_of(const std::string& name) const {
  int64_t bytes = 0;
  const int file = open_file(name, bytes);
  if (file < 0) return {};
  ::close(file);
  return bytes;
}

}  // namespace tessera
