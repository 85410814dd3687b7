// SPDX-License-Identifier: Apache-2.0
#include "files/record_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

#include "core/error.h"
#include "files/atomic_file.h"
#include "files/regular_file.h"
#include "files/storage_error.h"

namespace tessera {
namespace {

UserError cannot_write(const std::filesystem::path& path, int error) {
  return user_error("cannot write {}: {}", path.string(), errno_text(error))
      .help("free some space or choose another folder");
}

// The bytes that could be written before the first error.
size_t put(int file, std::string_view bytes) {
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t count = ::write(file, bytes.data() + done, bytes.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count == 0) errno = ENOSPC;
    if (count <= 0) break;
    done += static_cast<size_t>(count);
  }
  return done;
}

bool copy(const std::filesystem::path& from, int64_t bytes, int to) {
  const int file = ::open(from.c_str(), O_RDONLY | O_CLOEXEC);
  std::vector<char> buffer(size_t{1} << 20);
  bool good = file >= 0;
  for (int64_t done = 0; good && done < bytes;) {
    const size_t wanted = std::min(buffer.size(), static_cast<size_t>(bytes - done));
    const ssize_t count = ::pread(file, buffer.data(), wanted, done);
    if (count < 0 && errno == EINTR) continue;
    if (count == 0) errno = EIO;  // it has become shorter
    good = count > 0 &&
           put(to, {buffer.data(), static_cast<size_t>(count)}) == static_cast<size_t>(count);
    done += count;
  }
  const int error = errno;
  if (file >= 0) ::close(file);
  errno = error;
  return good;
}

// Nothing there, or a file that may be replaced: no device, no link to elsewhere.
bool replaceable(const std::filesystem::path& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) != 0 || S_ISREG(status.st_mode);
}

}  // namespace

RecordFile::RecordFile(std::filesystem::path path, RecordFileOptions options)
    : path_(std::move(path)), options_(std::move(options)) {
  if (!replaceable(path_)) {
    open_old();
    return;
  }
  if (take_place(options_.kept_bytes.value_or(0))) return;
  const int error = errno;
  if (!options_.kept_bytes || !options_.warn) throw cannot_write(path_, error);
  options_.warn(fmt::format("cannot replace {}: {}; the run continues with the old file",
                            path_.string(), errno_text(error)));
  open_old();
  // What follows the kept bytes is written again.
  if (file_ >= 0 && ::ftruncate(file_, *options_.kept_bytes) != 0) complain(errno);
}

RecordFile::~RecordFile() {
  if (file_ < 0) return;
  put(file_, rest_);
  ::close(file_);
}

bool RecordFile::take_place(int64_t kept_bytes) {
  std::filesystem::path partial = path_;
  partial += ".tmp";
  const int file = open_fresh_file(partial, O_APPEND);
  if (file < 0) return false;
  // Not before it is on disk: a power cut must not take the old one, too.
  const bool kept = kept_bytes == 0 || (copy(path_, kept_bytes, file) && ::fsync(file) == 0);
  if (kept && ::rename(partial.c_str(), path_.c_str()) == 0) {
    file_ = file;
    return true;
  }
  const int error = errno;
  ::close(file);
  ::unlink(partial.c_str());
  errno = error;
  return false;
}

void RecordFile::open_old() {
  file_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
}

void RecordFile::write(std::string_view record) {
  if (!write_rest()) {
    ++dropped_;
    return;
  }
  rest_ = record;
  if (write_rest() || rest_.size() < record.size()) return;
  rest_.clear();
  ++dropped_;
}

bool RecordFile::write_rest() {
  if (file_ < 0) open_old();
  const size_t done = file_ < 0 ? 0 : put(file_, rest_);
  if (done < rest_.size() || file_ < 0) complain(errno);
  rest_.erase(0, done);
  return rest_.empty() && file_ >= 0;
}

void RecordFile::complain(int error) {
  if (!options_.warn) throw cannot_write(path_, error);
  if (!std::exchange(warned_, true))
    options_.warn(
        fmt::format("cannot write {}: {}; the run continues, and what it would record there is "
                    "dropped until it can be written again",
                    path_.string(), errno_text(error)));
}

std::string RecordFile::losses() const {
  if (dropped_ == 0) return "";
  return fmt::format("{} record{} of {} could not be written and {} lost", dropped_,
                     dropped_ == 1 ? "" : "s", path_.string(), dropped_ == 1 ? "is" : "are");
}

namespace {

// What is not kept stands at the end. Little more than that is read, because a run of many steps
// may be resumed often.
int64_t kept_bytes(const std::filesystem::path& path, const KeepsLine& keeps) {
  const FileReader file(path);
  for (int64_t block = 1 << 16;; block *= 4) {
    const int64_t begin = std::max<int64_t>(0, file.bytes() - block);
    std::string text(static_cast<size_t>(file.bytes() - begin), '\0');
    file.read(begin, std::as_writable_bytes(std::span(text)));
    for (std::string_view kept = text; !kept.empty();) {
      const size_t line = kept.substr(0, kept.size() - 1).rfind('\n') + 1;  // npos + 1 is 0
      if (line == 0 && begin > 0) break;  // its begin has not been read yet
      if (kept.ends_with('\n') && keeps(kept.substr(line)))
        return begin + static_cast<int64_t>(kept.size());
      kept = kept.substr(0, line);
    }
    if (begin == 0) return 0;
  }
}

RecordFileOptions options_for(const std::filesystem::path& path, bool resumed, Warn warn,
                              const KeepsLine& keeps) {
  RecordFileOptions options{.warn = std::move(warn)};
  std::error_code none;
  const auto bytes = std::filesystem::file_size(path, none);
  if (!resumed) return options;
  options.kept_bytes = none ? 0 : static_cast<int64_t>(bytes);
  if (none || !std::filesystem::is_regular_file(path)) return options;
  try {
    options.kept_bytes = kept_bytes(path, keeps);
  } catch (const UserError& unreadable) {
    if (!options.warn) throw;
    options.warn(fmt::format("{}; its lines stay as they are", unreadable.message()));
  }
  return options;
}

}  // namespace

LineFile::LineFile(const std::filesystem::path& path, bool resumed, Warn warn,
                   const KeepsLine& keeps)
    : file_(path, options_for(path, resumed, std::move(warn), keeps)) {}

}  // namespace tessera
