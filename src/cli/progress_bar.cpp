// SPDX-License-Identifier: Apache-2.0
#include "cli/progress_bar.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/quantities.h"
#include "record/progress.h"
#include "system/seconds_since.h"

namespace tessera {
namespace {

constexpr size_t kWidth = 24;
constexpr std::chrono::milliseconds kQuiet{2000}, kLive{100}, kPlain{5000};

}  // namespace

std::string bar_line(const std::string& label, int64_t done, int64_t total, double seconds,
                     bool is_bytes) {
  const double share = total > 0 ? static_cast<double>(done) / static_cast<double>(total) : 1;
  const auto filled = std::min(kWidth, static_cast<size_t>(share * kWidth));
  const double rate = seconds > 0 ? static_cast<double>(done) / seconds : 0;
  const double left = rate > 0 ? static_cast<double>(total - done) / rate : 0;
  const auto amount = [&](double count) {
    return is_bytes ? short_bytes(static_cast<int64_t>(count)) : fmt::format("{:.0f}", count);
  };
  return fmt::format("{:<10} [{}{}] {:>3.0f}%  {}  {}/s  {} left", label, std::string(filled, '#'),
                     std::string(kWidth - filled, '.'), 100 * share,
                     amount(static_cast<double>(done)), amount(rate), short_duration(left));
}

ProgressBar::ProgressBar(std::string label, int64_t total, bool is_bytes)
    : label_(std::move(label)),
      total_(total),
      is_bytes_(is_bytes),
      live_(is_terminal(stderr)),
      begin_(Clock::now()) {}

ProgressBar::~ProgressBar() {
  if (live_ && shown_) fmt::print(stderr, "\n");
}

void ProgressBar::show(int64_t done) {
  const auto now = Clock::now();
  if (now - begin_ < kQuiet) return;
  const bool ends = done == total_;
  if (shown_ && !ends && now - last_shown_ < (live_ ? kLive : kPlain)) return;
  shown_ = true;
  last_shown_ = now;
  const std::string line = bar_line(label_, done, total_, seconds_since(begin_), is_bytes_);
  if (live_)
    fmt::print(stderr, "\r{:<100}", line);
  else
    fmt::print(stderr, "{}\n", line);
  std::fflush(stderr);
}

void ProgressBars::show(std::string_view label, int64_t done, int64_t total) {
  const std::lock_guard lock(mutex_);
  if (!bar_ || label != label_) {
    bar_.reset();  // ends the line of the one before
    label_ = label;
    bar_ = std::make_unique<ProgressBar>(label_, total, true);
  }
  bar_->show(done);
  if (done == total) bar_.reset();
}

}  // namespace tessera
