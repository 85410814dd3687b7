// SPDX-License-Identifier: Apache-2.0
#include "files/file_reader.h"

#include <unistd.h>

#include <cerrno>

#include "files/errno_text.h"
#include "files/storage_error.h"

namespace tessera {

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
