// SPDX-License-Identifier: Apache-2.0
#include "files/atomic_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <string>
#include <utility>

#include "core/error.h"
#include "files/storage_error.h"

namespace tessera {
namespace {

constexpr size_t kMostBytes = 64 << 20;    // of one write
constexpr int64_t kDirectFrom = 64 << 20;  // bytes of a file that is worth it
constexpr size_t kStageBytes = 4 << 20;    // of one write around the page cache
constexpr std::align_val_t kBlock{4096};   // that such a write begins and ends at

}  // namespace

struct AtomicFile::Stage {
  struct Free {
    void operator()(std::byte* given) const { ::operator delete(given, kBlock); }
  };
  std::unique_ptr<std::byte, Free> bytes{
      static_cast<std::byte*>(::operator new(kStageBytes, kBlock))};
  size_t filled = 0;
};

int sync_folder(const std::filesystem::path& folder) {
  const int handle = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (handle < 0) return errno;
  const int error = ::fsync(handle) == 0 ? 0 : errno;
  ::close(handle);
  return error == EINVAL ? 0 : error;  // the file system has no such call
}

AtomicFile::AtomicFile(std::filesystem::path path, int64_t expected_bytes, FileWatch watch)
    : path_(std::move(path)),
      partial_(path_),
      expected_bytes_(expected_bytes),
      watch_(std::move(watch)) {
  partial_ += ".tmp";
  if (!fails(FileCall::Open)) {
    const bool large = expected_bytes >= kDirectFrom;
    if (large) file_ = open_fresh_file(partial_, O_DIRECT);
    if (file_ >= 0) stage_ = std::make_unique<Stage>();
    // Not every file system can do that.
    if (file_ < 0 && (!large || errno == EINVAL)) file_ = open_fresh_file(partial_);
  }
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
  if (!stage_) return put(bytes);
  while (!bytes.empty()) {
    const size_t count = std::min(bytes.size(), kStageBytes - stage_->filled);
    std::memcpy(stage_->bytes.get() + stage_->filled, bytes.data(), count);
    stage_->filled += count;
    bytes = bytes.subspan(count);
    if (stage_->filled == kStageBytes) flush_stage();
  }
}

void AtomicFile::leave_direct_mode() const {
  ::fcntl(file_, F_SETFL, ::fcntl(file_, F_GETFL) & ~O_DIRECT);
}

void AtomicFile::flush_stage() {
  const size_t blocks = stage_->filled / static_cast<size_t>(kBlock) * static_cast<size_t>(kBlock);
  put({stage_->bytes.get(), blocks});
  if (blocks < stage_->filled) {
    leave_direct_mode();
    put({stage_->bytes.get() + blocks, stage_->filled - blocks});
  }
  stage_->filled = 0;
}

void AtomicFile::put(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    // In parts, so that a failure can stand between any two of them.
    const std::byte rotten = ~bytes.front();
    const ssize_t count = fails(FileCall::Write) ? -1
                          : std::exchange(rots_, false)
                              ? ::write(file_, &rotten, 1)
                              : ::write(file_, bytes.data(), std::min(bytes.size(), kMostBytes));
    if (count < 0 && errno == EINTR) continue;
    // A write that was cut short leaves the next one between two blocks.
    if (count < 0 && errno == EINVAL && stage_ && (::fcntl(file_, F_GETFL) & O_DIRECT) != 0) {
      leave_direct_mode();
      continue;
    }
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
  if (stage_) flush_stage();
  if (fails(FileCall::Fsync) || ::fsync(file_) != 0) give_up(errno);
  if (fails(FileCall::Rename) || ::rename(partial_.c_str(), path_.c_str()) != 0) give_up(errno);
  ::close(std::exchange(file_, -1));
  const auto parent = path_.has_parent_path() ? path_.parent_path() : std::filesystem::path(".");
  const int error = fails(FileCall::SyncFolder) ? errno : sync_folder(parent);
  if (error != 0)
    throw user_error("cannot sync the folder {}: {}", parent.string(), errno_text(error));
}

bool AtomicFile::fails(FileCall call) {
  int error = watch_ ? watch_(call) : 0;
  if (error == EILSEQ) {
    rots_ = true;
    error = 0;
  }
  if (error != 0) errno = error;
  return error != 0;
}

void AtomicFile::give_up(int error) {
  ::close(std::exchange(file_, -1));
  ::unlink(partial_.c_str());
  const std::string total = expected_bytes_ > 0 ? fmt::format(" of {}", expected_bytes_) : "";
  throw user_error("cannot write {}: {} after {}{} bytes", path_.string(), errno_text(error),
                   written_bytes_, total)
      .help("free some space or choose another folder; nothing was overwritten");
}

void write_file_atomically(const std::filesystem::path& path, std::string_view text,
                           FileWatch watch) {
  AtomicFile file(path, static_cast<int64_t>(text.size()), std::move(watch));
  file.write(text);
  file.commit();
}

}  // namespace tessera
