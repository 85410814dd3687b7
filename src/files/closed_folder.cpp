// SPDX-License-Identifier: Apache-2.0
#include "files/closed_folder.h"

#include <dirent.h>
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

ClosedFolder& ClosedFolder::operator=(ClosedFolder&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

ClosedFolder::~ClosedFolder() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

int ClosedFolder::open_beneath(const std::string& name, uint64_t flags) const {
  open_how how{};
  how.flags = flags | O_CLOEXEC;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  return static_cast<int>(::syscall(SYS_openat2, descriptor_, name.c_str(), &how, sizeof how));
}

int ClosedFolder::open_file(const std::string& name, FileState& state) const {
  const int file = open_beneath(name, O_RDONLY | O_NONBLOCK | O_NOCTTY);
  if (file < 0) return -1;
  struct stat found {};
  if (::fstat(file, &found) != 0 || !S_ISREG(found.st_mode)) {
    ::close(file);
    return -1;
  }
  state = {.bytes = found.st_size,
           .number = found.st_ino,
           .modified_at = static_cast<double>(found.st_mtim.tv_sec) +
                          1e-9 * static_cast<double>(found.st_mtim.tv_nsec)};
  return file;
}

std::vector<std::string> ClosedFolder::names(size_t most) const {
  const int own = open_beneath(".", O_RDONLY | O_DIRECTORY);
  DIR* entries = own < 0 ? nullptr : ::fdopendir(own);
  if (!entries) {
    if (own >= 0) ::close(own);
    return {};
  }
  std::vector<std::string> found;
  while (const dirent* entry = found.size() < most ? ::readdir(entries) : nullptr)
    if (entry->d_name[0] != '.') found.emplace_back(entry->d_name);
  ::closedir(entries);
  return found;
}

std::optional<ClosedFolder> ClosedFolder::folder(const std::string& name) const {
  const int inner = open_beneath(name, O_PATH | O_DIRECTORY);
  if (inner < 0) return {};
  return ClosedFolder(inner);
}

std::optional<std::string> ClosedFolder::read(const std::string& name, int64_t begin,
                                              int64_t most) const {
  FileState state;
  const int file = open_file(name, state);
  if (file < 0) return {};
  std::string text(static_cast<size_t>(std::clamp<int64_t>(state.bytes - begin, 0, most)), '\0');
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

std::optional<FileState> ClosedFolder::state_of(const std::string& name) const {
  FileState state;
  const int file = open_file(name, state);
  if (file < 0) return {};
  ::close(file);
  return state;
}

}  // namespace tessera
