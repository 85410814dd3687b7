// SPDX-License-Identifier: Apache-2.0
// Only the newest start of a run may write to its folder. Every start takes the next number; a
// process of an older start, however late it wakes up, is refused. The file `generation` holds the
// number, and is locked while something is committed, so that no newer start takes over meanwhile.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>

namespace tessera {

class Generation {
 public:
  // Takes over the folder of checkpoints, and creates it if it does not exist. A UserError if it
  // cannot be written, or another process holds the lock for longer than `patience_seconds`.
  explicit Generation(const std::filesystem::path& checkpoints, double patience_seconds = 10);

  int64_t number() const { return number_; }
  // Runs `act` while no newer start can take over. Returns false, without running it, if one has; a
  // UserError if the folder is gone.
  bool while_newest(const std::function<void()>& act) const;
  // Whether a newer start has taken over, as far as the file can be read; without a lock, cheap
  // enough for many calls per second.
  bool taken_over() const;

 private:
  std::filesystem::path path_;
  double patience_seconds_;
  int64_t number_ = 0;
  uint64_t token_ =
      0;  // distinguishes two starts with the same number on a file system without locks
};

}  // namespace tessera
