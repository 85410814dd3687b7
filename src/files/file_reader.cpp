// SPDX-License-Identifier: Apache-2.0
#include "files/file_reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "files/errno_text.h"
#include "files/storage_error.h"

namespace tessera {

FileReader::FileReader(std::filesystem::path path)
    : path_(std::move(path)),
      file_(::open(path_.c_str(),
                   O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {  // a pipe must not be waited for
  if (file_ < 0) throw_cannot_open(path_, errno);
  struct stat status {};
  if (::fstat(file_, &status) != 0 || !S_ISREG(status.st_mode)) {
    ::close(file_);
    throw user_error("cannot read {}: not a regular file", path_.string()).help("give a file");
  }
  bytes_ = status.st_size;
}

FileReader::~FileReader() { ::close(file_); }

void FileReader::read(int64_t offset, std::span<std::byte> to) const {
  while (!to.empty()) {
    const ssize_t count = ::pread(file_, to.data(), to.size(), offset);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0)
      throw StorageError(
          fmt::format("cannot read {} at byte {}: {}", path_.string(), offset,
                      count < 0 ? errno_text(errno)
                                : fmt::format("it ends there, and had {} bytes", bytes_)),
          "its disk may be failing: look at dmesg, and use another copy of the file");
    offset += count;
    to = to.subspan(static_cast<size_t>(count));
  }
}

std::string read_whole_file(const std::filesystem::path& path) {
  const FileReader file(path);
  std::string text(static_cast<size_t>(file.bytes()), '\0');
  file.read(0, std::as_writable_bytes(std::span(text)));
  return text;
}

}  // namespace tessera
