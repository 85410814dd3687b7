// SPDX-License-Identifier: Apache-2.0
#include "serve/line_stream.h"

#include <algorithm>
#include <chrono>

namespace tessera {
namespace {

constexpr size_t kMostUnsentBytes = 256 * 1024;
constexpr std::chrono::milliseconds kLookForListener{50};

}  // namespace

bool LineStream::tell(std::string_view line) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return unsent_.size() < kMostUnsentBytes || !listened_; });
  if (!listened_ || line.empty()) return listened_;
  unsent_.append(line);
  unsent_ += '\n';
  begun_ = true;
  changed_.notify_all();
  return true;
}

void LineStream::finish() {
  const std::lock_guard lock(mutex_);
  finished_ = true;
  changed_.notify_all();
}

long LineStream::take(char* to, size_t most, const std::function<bool()>& gone) {
  std::unique_lock lock(mutex_);
  while (unsent_.empty() && !finished_ && listened_) {
    changed_.wait_for(lock, kLookForListener);
    if (unsent_.empty() && gone()) listened_ = false;
  }
  changed_.notify_all();
  if (!listened_) return -1;
  const size_t count = std::min(most, unsent_.size());
  std::copy_n(unsent_.begin(), count, to);
  unsent_.erase(0, count);
  return static_cast<long>(count);
}

bool LineStream::has_begun_within(double seconds) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, std::chrono::duration<double>(seconds),
                           [&] { return begun_ || finished_; });
}

bool LineStream::ended_without_lines() {
  const std::lock_guard lock(mutex_);
  return finished_ && !begun_;
}

void LineStream::stop_listening() {
  const std::lock_guard lock(mutex_);
  listened_ = false;
  changed_.notify_all();
}

}  // namespace tessera
