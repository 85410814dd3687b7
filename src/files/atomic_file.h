// SPDX-License-Identifier: Apache-2.0
// A file that appears whole or not at all: written beside as `<path>.tmp`, flushed to disk, then
// renamed. Until `commit` the old file stands untouched; without it, or after an error, the partial
// file is removed. Large files go around the page cache, which costs a copy.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string_view>

namespace tessera {

// The calls to the system that make a file durable, in their order.
enum class FileCall : uint8_t { Open, Write, Fsync, Rename, SyncFolder };
// Asked before each call: 0, or the errno that it shall fail with; EILSEQ: a write succeeds, and
// leaves another first byte. For tests of failures.
using FileWatch = std::function<int(FileCall)>;

class AtomicFile {
 public:
  // `expected_bytes` is named in the error when the disk fills; 0 when unknown.
  explicit AtomicFile(std::filesystem::path path, int64_t expected_bytes = 0, FileWatch watch = {});
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text);
  int64_t written_bytes() const { return written_bytes_; }
  void commit();

 private:
  struct Stage;               // where bytes wait for a whole block
  bool fails(FileCall call);  // then errno says how
  void put(std::span<const std::byte> bytes);
  void flush_stage();
  void leave_direct_mode() const;
  [[noreturn]] void give_up(int error);

  std::filesystem::path path_, partial_;
  int64_t expected_bytes_;
  FileWatch watch_;
  int64_t written_bytes_ = 0;
  bool rots_ = false;  // what is written next
  int file_ = -1;
  std::unique_ptr<Stage> stage_;  // null where the page cache is used
};

void write_file_atomically(const std::filesystem::path& path, std::string_view text,
                           FileWatch watch = {});

// Makes what was created, renamed or removed in a folder last. 0, or an errno.
int sync_folder(const std::filesystem::path& folder);

// A temporary file that is this process's own: what a killed process left under its name is
// removed, and a link that somebody put there is not followed.
// Open for writing; -1, and errno says why, where it cannot be.
inline int open_fresh_file(const std::filesystem::path& path, int more_flags = 0) {
  ::unlink(path.c_str());
  return ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC | more_flags,
                0644);
}

}  // namespace tessera
