// SPDX-License-Identifier: Apache-2.0
#include "launch/supervisor.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <optional>

#include "core/error.h"
#include "launch/watched_command.h"
#include "system/blocked_signals.h"
#include "system/say.h"
#include "system/seconds_since.h"

namespace tessera {
namespace {

class Supervisor {
 public:
  Supervisor(const Supervised& supervised, const SupervisorOptions& options)
      : supervised_(supervised),
        options_(options),
        reached_(supervised.progress()),
        pause_(options.first_pause_seconds) {}

  SupervisorResult run() {
    for (int starts = 0; !code_; ++starts) {
      await_what_it_needs();
      if (code_) break;
      const CommandEnd end = start(starts);
      if (code_ || moves(end)) continue;
      if (began(end))
        count_failure(end);
      else
        count_missing_launch(end);
      if (!code_) rest();
    }
    result_.code = *code_;
    return result_;
  }

 private:
  CommandEnd start(int starts) {
    const auto begin = std::chrono::steady_clock::now();
    const std::vector<std::string> words = supervised_.command(starts);
    program_ = std::filesystem::path(words.front()).filename().string();
    const pid_t process =
        start_command(words, starts > 0 ? supervised_.unset_on_restart : std::vector<std::string>{},
                      signals_, options_.stop_signal != 0);
    const CommandEnd end = watch_command(process, signals_,
                                         {.stop_signal = options_.stop_signal,
                                          .over = supervised_.over,
                                          .seconds_to_end = options_.seconds_to_end,
                                          .must_move = supervised_.must_move});
    const double seconds = seconds_since(begin);
    result_.seconds += seconds;
    if (supervised_.after_end) supervised_.after_end();
    // Bad input that earlier starts did not report means a file that is temporarily unreadable.
    const bool is_final = is_bad_input(end) && (starts == 0 || began(end));
    if ((end.code() == 0 && !moves(end)) || end.asked != 0 || is_final) code_ = end.code();
    if (supervised_.record)
      supervised_.record({.began_unix_seconds = now_unix_seconds() - seconds,
                          .seconds = seconds,
                          .waited_seconds = waited_seconds_,
                          .failed = end.code() != 0 && end.asked == 0,
                          .moves = moves(end),
                          .stopped = end.asked != 0});
    return end;
  }

  // Whether it saved and ended because it was asked to, with steps left to do.
  bool moves(const CommandEnd& end) const {
    return end.moved && end.asked == 0 && end.code() == 0 &&
           !(supervised_.complete && supervised_.complete());
  }

  static double now_unix_seconds() {
    return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch())
        .count();
  }

  void await_what_it_needs() {
    constexpr double kLookSeconds = 0.25;
    const auto begin = std::chrono::steady_clock::now();
    waited_seconds_ = 0;
    while (!code_ && supervised_.ready && !supervised_.ready()) {
      if (const int signal = signals_.next_within(kLookSeconds); asks_to_stop(signal))
        code_ = 128 + signal;
      waited_seconds_ = seconds_since(begin);
      if (code_ || waited_seconds_ < options_.ready_seconds) continue;
      say(options_.log, "supervisor: what the run needs has been missing for {:.0f} s: giving up\n",
          waited_seconds_);
      code_ = kNoProgressExitStatus;
    }
  }

  bool is_bad_input(const CommandEnd& end) const {
    const std::vector<int>& codes = options_.final_codes;
    return std::find(codes.begin(), codes.end(), end.code()) != codes.end();
  }

  bool began(const CommandEnd& end) const {
    return !supervised_.began || supervised_.began(end.code());
  }

  // The run has not started: only time counts.
  void count_missing_launch(const CommandEnd& end) {
    if (!trouble_since_) trouble_since_ = std::chrono::steady_clock::now();
    const double patience = options_.patience_seconds - seconds_since(*trouble_since_);
    say(options_.log, "supervisor: {} {} before any rank had begun\n", program_, end.text());
    if (patience <= 0 && !asks_for_less()) {
      say(options_.log, "supervisor: {} has started no rank for {:.0f} s: giving up\n", program_,
          seconds_since(*trouble_since_));
      code_ = is_bad_input(end) ? end.code() : kNoProgressExitStatus;
      return;
    }
    say(options_.log, "supervisor: retrying in {:.1f} s, for {:.0f} s more\n", pause_,
        std::max(0.0, patience));
  }

  void count_failure(const CommandEnd& end) {
    ++result_.failures;
    if (supervised_.after_failure) supervised_.after_failure();
    look_for_progress();
    ++failures_in_a_row_;
    say(options_.log, "supervisor: the run {}; its newest checkpoint is {}\n", end.text(),
        reached_ < 0 ? "none" : fmt::format("of step {}", reached_));
    const bool hopeless = failures_in_a_row_ >= options_.failures_without_progress &&
                          seconds_since(*trouble_since_) >= options_.patience_seconds;
    if (hopeless && !asks_for_less()) {
      say(options_.log, "supervisor: {} failures without a new checkpoint in {:.0f} s: giving up\n",
          failures_in_a_row_, seconds_since(*trouble_since_));
      code_ = kNoProgressExitStatus;
    } else if (restarts_ == options_.restarts) {
      say(options_.log, "supervisor: all {} restarts are used: giving up\n", restarts_);
      code_ = kGaveUpExitStatus;
    } else {
      say(options_.log, "supervisor: restart {} of {} in {:.1f} s\n", ++restarts_,
          options_.restarts, pause_);
    }
  }

  void look_for_progress() {
    const int64_t now = supervised_.progress();
    // A smaller value is progress, too: a run that went back to an older checkpoint has saved
    // again.
    if (now != reached_) forget_trouble();
    reached_ = now;
    if (!trouble_since_) trouble_since_ = std::chrono::steady_clock::now();
  }

  bool asks_for_less() {
    if (!supervised_.ask_for_less || !supervised_.ask_for_less()) return false;
    forget_trouble();
    return true;
  }

  void forget_trouble() {
    failures_in_a_row_ = 0;
    trouble_since_.reset();
    pause_ = options_.first_pause_seconds;
  }

  void rest() {
    std::fflush(options_.log);
    const auto begin = std::chrono::steady_clock::now();
    for (double left = pause_; left > 0 && !code_; left = pause_ - seconds_since(begin)) {
      const int signal = signals_.next_within(left);
      if (asks_to_stop(signal)) code_ = 128 + signal;
    }
    pause_ = std::min(2 * pause_, options_.longest_pause_seconds);
  }

  const BlockedSignals signals_{SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};
  const Supervised& supervised_;
  const SupervisorOptions& options_;
  SupervisorResult result_;
  std::optional<int> code_;  // once it is over
  std::string program_;      // of the last start
  int restarts_ = 0;
  int64_t reached_;
  double waited_seconds_ = 0;                                           // before the last start
  int failures_in_a_row_ = 0;                                           // without progress
  std::optional<std::chrono::steady_clock::time_point> trouble_since_;  // the first of them
  double pause_;
};

}  // namespace

SupervisorResult supervise(const Supervised& supervised, const SupervisorOptions& options) {
  return Supervisor(supervised, options).run();
}

}  // namespace tessera
