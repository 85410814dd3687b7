// SPDX-License-Identifier: Apache-2.0
// Notices from a thread of its own when nothing moves any more, for work that one thread does for
// all ranks: nobody else waits for it.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>

namespace tessera {

class StallWatch {
 public:
  // `state` changes whenever something moves. `stalled` is called once, on the watch's thread, when
  // it has stayed the same for the deadline between `begin` and `end`.
  StallWatch(double deadline_seconds, std::function<int64_t()> state,
             std::function<void()> stalled);
  ~StallWatch();
  StallWatch(const StallWatch&) = delete;
  StallWatch& operator=(const StallWatch&) = delete;

  // May be nested.
  void begin();
  void end();

 private:
  void watch(const std::stop_token& stop);

  const double deadline_seconds_;
  const std::function<int64_t()> state_;
  const std::function<void()> stalled_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  int works_ = 0;        // that have begun and not ended
  std::jthread thread_;  // last, so that it ends first
};

}  // namespace tessera
