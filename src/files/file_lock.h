// SPDX-License-Identifier: Apache-2.0
// A lock between processes, and between threads: a file that one holder at a time has locked. It is
// free again when its holder ends, however that ends.
#pragma once

#include <filesystem>

namespace tessera {

class FileLock {
 public:
  // Makes the file where it is missing; a UserError where that is not possible.
  explicit FileLock(const std::filesystem::path& path);
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

  bool try_lock();  // true: from now on it is ours
  void lock();      // waits

 private:
  std::filesystem::path path_;
  int file_;
};

}  // namespace tessera
