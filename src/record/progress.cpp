// SPDX-License-Identifier: Apache-2.0
#include "record/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "core/quantities.h"
#include "system/say.h"

namespace tessera {
namespace {

constexpr double kNewStepWeight = 0.1;
constexpr std::chrono::milliseconds kRefresh{100}, kLongestSilence{10'000};

std::string short_count(double count) {
  if (count >= 1e6) return fmt::format("{:.2f}M", count / 1e6);
  if (count >= 1e4) return fmt::format("{:.1f}k", count / 1e3);
  return fmt::format("{:.0f}", count);
}

}  // namespace

std::string progress_line(const StepRecord& m, int64_t total_steps, double seconds_left) {
  std::string line = fmt::format("step {:>{}}/{}  loss {:.4f}  {} tok/s", m.step,
                                 fmt::formatted_size("{}", total_steps), total_steps, m.loss,
                                 short_count(m.tokens_per_second));
  if (m.mfu > 0)  // more than the peak: that was measured too low, as the end of the run says
    line += m.mfu > 1 ? "  mfu > 100%" : fmt::format("  mfu {:.1f}%", 100 * m.mfu);
  line += fmt::format("  {}", short_bytes(static_cast<int64_t>(m.peak_bytes)));
  if (known(m.held_out_loss)) line += fmt::format("  held out {:.4f}", m.held_out_loss);
  return line + fmt::format("  {} left", short_duration(seconds_left));
}

bool is_terminal(std::FILE* stream) { return ::isatty(::fileno(stream)) == 1; }

void Progress::step(const StepRecord& record) {
  const double weight = mean_step_seconds_ == 0 ? 1 : kNewStepWeight;
  mean_step_seconds_ += weight * (record.step_seconds - mean_step_seconds_);
  const int64_t steps_left = options_.total_steps - record.step;
  const std::string line = progress_line(record, options_.total_steps,
                                         mean_step_seconds_ * static_cast<double>(steps_left));
  const bool ends = steps_left == 0 || known(record.held_out_loss).has_value();
  const auto now = std::chrono::steady_clock::now();
  const auto silence = now - last_shown_;  // before the first line: for ever
  if (!options_.live) {
    if (record.step % options_.log_every != 0 && !ends && silence < kLongestSilence) return;
    last_shown_ = now;
    say(options_.stream, "{}\n", line);
  } else {
    if (!ends && silence < kRefresh) return;
    last_shown_ = now;
    // Spaces erase the rest of a longer line.
    say(options_.stream, "\r{:<{}}", line, std::max(shown_width_, line.size()));
    shown_width_ = line.size();
    if (known(record.held_out_loss)) finish();
  }
  std::fflush(options_.stream);
}

void Progress::clear_line() {
  if (shown_width_ > 0) say(options_.stream, "\r{:<{}}\r", "", shown_width_);
  shown_width_ = 0;
}

void Progress::note(std::string_view text) {
  clear_line();
  say(options_.stream, "{}\n", text);
  std::fflush(options_.stream);
}

void Progress::finish() {
  if (shown_width_ > 0) say(options_.stream, "\n");
  shown_width_ = 0;
  std::fflush(options_.stream);
}

}  // namespace tessera
