// SPDX-License-Identifier: Apache-2.0
// Which start of a run may write to its folder: the last one. Every start takes the next number; a
// process of an older one, however late it wakes up, is refused. The file `generation` holds the
// number, and its lock is held while something is made to last, so nobody takes over meanwhile.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>

namespace tessera {

class Generation {
 public:
  // Takes over the folder of checkpoints, which is made where there is none. A UserError where it
  // cannot be written, or another process holds the lock for longer than `patience_seconds`.
  explicit Generation(const std::filesystem::path& checkpoints, double patience_seconds = 10);

  int64_t number() const { return number_; }
  // Does `act` while nobody can take over. False, without it, where somebody has; a UserError where
  // the folder is gone.
  bool while_newest(const std::function<void()>& act) const;
  // Whether somebody has, as far as the file can be read; without a lock, for many times a second.
  bool taken_over() const;

 private:
  std::filesystem::path path_;
  double patience_seconds_;
  int64_t number_ = 0;
  uint64_t token_ = 0;  // two that take the same number on a file system without locks differ
};

}  // namespace tessera
