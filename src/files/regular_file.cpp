// SPDX-License-Identifier: Apache-2.0
#include "files/regular_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "files/storage_error.h"

namespace tessera {
namespace {

// Without O_NONBLOCK a named pipe would wait here for a writer.
int open_to_read(const std::filesystem::path& path) {
  return ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

}  // namespace

RegularFile::RegularFile(int descriptor, const std::filesystem::path& path)
    : descriptor_(descriptor) {
  struct stat status {};
  if (::fstat(descriptor_, &status) != 0 || !S_ISREG(status.st_mode)) {
    ::close(descriptor_);
    throw user_error("cannot read {}: not a regular file", path.string()).help("give a file");
  }
  bytes_ = status.st_size;
}

RegularFile::RegularFile(RegularFile&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), bytes_(other.bytes_) {}

RegularFile::~RegularFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

RegularFile open_regular_file(const std::filesystem::path& path) {
  const int descriptor = open_to_read(path);
  if (descriptor < 0) throw_cannot_open(path, errno);
  return {descriptor, path};
}

std::optional<RegularFile> find_regular_file(const std::filesystem::path& path) {
  const int descriptor = open_to_read(path);
  if (descriptor >= 0) return RegularFile(descriptor, path);
  if (errno == ENOENT || errno == ENOTDIR) return std::nullopt;
  throw StorageError(fmt::format("cannot read {}: {}", path.string(), errno_text(errno)),
                     "check its permissions, and that its disk is mounted and answers");
}

void FileReader::read(int64_t offset, std::span<std::byte> to) const {
  while (!to.empty()) {
    const ssize_t count = ::pread(file_.descriptor(), to.data(), to.size(), offset);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0)
      throw StorageError(
          fmt::format("cannot read {} at byte {}: {}", path_.string(), offset,
                      count < 0 ? errno_text(errno)
                                : fmt::format("it ends there, and had {} bytes", bytes())),
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
