// SPDX-License-Identifier: Apache-2.0
#include "train/atomic_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>

#include "core/error.h"
#include "train/errno_text.h"

namespace tessera {
namespace {

void sync_folder_of(const std::filesystem::path& path) {
  const auto parent = path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
  const int folder = ::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return;  // some file systems refuse; the rename itself has succeeded
  ::fsync(folder);
  ::close(folder);
}

}  // namespace

AtomicFile::AtomicFile(std::filesystem::path path, int64_t expected_bytes)
    : path_(std::move(path)), partial_(path_), expected_bytes_(expected_bytes) {
  partial_ += ".tmp";
  file_ = ::open(partial_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file_ < 0) {
    throw user_error("cannot write {}: {}", path_.string(), errno_text(errno))
        .help("check that the folder exists and may be written to");
  }
}

AtomicFile::~AtomicFile() {
  if (file_ < 0) return;
  ::close(file_);
  ::unlink(partial_.c_str());
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  TESSERA_CHECK(file_ >= 0, "{} is already committed", path_.string());
  while (!bytes.empty()) {
    const ssize_t count = ::write(file_, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) give_up(errno);
    written_bytes_ += count;
    bytes = bytes.subspan(static_cast<size_t>(count));
  }
}

void AtomicFile::write(std::string_view text) {
  write(std::as_bytes(std::span(text.data(), text.size())));
}

void AtomicFile::commit() {
  TESSERA_CHECK(file_ >= 0, "{} is already committed", path_.string());
  if (::fsync(file_) != 0) give_up(errno);
  if (::rename(partial_.c_str(), path_.c_str()) != 0) give_up(errno);
  ::close(std::exchange(file_, -1));
  sync_folder_of(path_);
}

void AtomicFile::give_up(int error) {
  ::close(std::exchange(file_, -1));
  ::unlink(partial_.c_str());
  const std::string total = expected_bytes_ > 0 ? fmt::format(" of {}", expected_bytes_) : "";
  throw user_error("cannot write {}: {} after {}{} bytes", path_.string(), errno_text(error),
                   written_bytes_, total)
      .help("free some space or choose another folder with run.out; nothing was overwritten");
}

void write_file_atomically(const std::filesystem::path& path, std::string_view text) {
  AtomicFile file(path, static_cast<int64_t>(text.size()));
  file.write(text);
  file.commit();
}

}  // namespace tessera
