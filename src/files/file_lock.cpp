// SPDX-License-Identifier: Apache-2.0
#include "files/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>

#include "core/error.h"
#include "files/storage_error.h"

namespace tessera {
namespace {

[[noreturn]] void cannot_lock(const std::filesystem::path& path, int error) {
  throw user_error("cannot lock {}: {}", path.string(), errno_text(error))
      .help("choose a folder that may be written to, on a disk with locks");
}

}  // namespace

FileLock::FileLock(const std::filesystem::path& path)
    : path_(path), file_(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644)) {
  if (file_ < 0) cannot_lock(path_, errno);
}

FileLock::~FileLock() { ::close(file_); }

bool FileLock::try_lock() {
  if (::flock(file_, LOCK_EX | LOCK_NB) == 0) return true;
  if (errno != EWOULDBLOCK && errno != EINTR) cannot_lock(path_, errno);
  return false;
}

void FileLock::lock() {
  while (::flock(file_, LOCK_EX) != 0)
    if (errno != EINTR) cannot_lock(path_, errno);
}

}  // namespace tessera
