// SPDX-License-Identifier: Apache-2.0
#include "comm/failure/stall_watch.h"

#include <algorithm>
#include <chrono>

#include "system/seconds_since.h"
#include "system/threads.h"

namespace tessera {

StallWatch::StallWatch(double deadline_seconds, std::function<int64_t()> state,
                       std::function<void()> stalled)
    : deadline_seconds_(deadline_seconds),
      state_(std::move(state)),
      stalled_(std::move(stalled)),
      thread_(start_thread<std::jthread>([this](const std::stop_token& stop) { watch(stop); })) {}

StallWatch::~StallWatch() = default;

void StallWatch::begin() {
  const std::lock_guard lock(mutex_);
  ++works_;
  changed_.notify_all();
}

void StallWatch::end() {
  const std::lock_guard lock(mutex_);
  --works_;
  changed_.notify_all();
}

void StallWatch::watch(const std::stop_token& stop) {
  const auto look = std::chrono::duration<double>(std::clamp(deadline_seconds_ / 20, 0.001, 0.5));
  std::unique_lock lock(mutex_);
  while (changed_.wait(lock, stop, [this] { return works_ > 0; })) {
    int64_t last = state_();
    auto since = std::chrono::steady_clock::now();
    while (!changed_.wait_for(lock, stop, look, [this] { return works_ == 0; })) {
      if (stop.stop_requested()) return;
      if (const int64_t now = state_(); now != last) {
        last = now;
        since = std::chrono::steady_clock::now();
      } else if (seconds_since(since) > deadline_seconds_) {
        stalled_();
        return;
      }
    }
  }
}

}  // namespace tessera
