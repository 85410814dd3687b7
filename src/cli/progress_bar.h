// SPDX-License-Identifier: Apache-2.0
// Shows progress: a bar on a terminal, an occasional line elsewhere. On standard error. Work that
// ends within two seconds shows nothing.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

namespace tessera {

// "reading      [####......]  42%  120 MB  15.2 MB/s  1m40s left"
std::string bar_line(const std::string& label, int64_t done, int64_t total, double seconds,
                     bool is_bytes);

class ProgressBar {
 public:
  ProgressBar(std::string label, int64_t total, bool is_bytes);
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  void show(int64_t done);  // by one thread at a time

 private:
  using Clock = std::chrono::steady_clock;
  std::string label_;
  int64_t total_;
  bool is_bytes_, live_, shown_ = false;
  Clock::time_point begin_, last_shown_;
};

// A bar for one work after another, of bytes. From any thread.
class ProgressBars {
 public:
  void show(std::string_view label, int64_t done, int64_t total);

 private:
  std::mutex mutex_;
  std::string label_;
  std::unique_ptr<ProgressBar> bar_;
};

}  // namespace tessera
