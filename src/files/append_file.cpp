// SPDX-License-Identifier: Apache-2.0
#include "files/append_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "core/error.h"
#include "files/errno_text.h"

namespace tessera {
namespace {

UserError cannot_write(const std::filesystem::path& path, int error) {
  return user_error("cannot write {}: {}", path.string(), errno_text(error))
      .help("free some space or choose another folder with run.out");
}

}  // namespace

AppendFile::AppendFile(std::filesystem::path path, bool append)
    : path_(std::move(path)),
      file_(::open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | (append ? O_APPEND : O_TRUNC),
                   0644)) {
  if (file_ < 0) throw cannot_write(path_, errno);
}

AppendFile::~AppendFile() { ::close(file_); }

void AppendFile::write(std::string_view record) {
  while (!record.empty()) {
    const ssize_t count = ::write(file_, record.data(), record.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw cannot_write(path_, errno);
    record.remove_prefix(static_cast<size_t>(count));
  }
}

}  // namespace tessera
