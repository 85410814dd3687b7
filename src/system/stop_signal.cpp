// SPDX-License-Identifier: Apache-2.0
#include "system/stop_signal.h"

#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <ctime>
#include <string_view>

namespace tessera {
namespace {

// A signal handler can only access globals, and it may run in any thread of the process.
std::atomic<int> received = 0;
std::atomic<int64_t> told_to_end_at = 0;  // nanoseconds; 0: not yet
std::atomic<bool> save_asked = false;
std::atomic<int> holders = 0;
sigset_t mask_before;  // of the thread that made the first holder
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<bool>::is_always_lock_free &&
              std::atomic<int64_t>::is_always_lock_free);

// A person who presses a key expects a reaction; in a job, ranks are not in the terminal's process
// group.
void tell_the_terminal() {
  constexpr std::string_view kNotice =
      "\n"
      "stopping after this step; a second signal ends the run at once\n";
  const int error = errno;
  if (::tcgetpgrp(STDERR_FILENO) == ::getpgrp()) {
    [[maybe_unused]] const ssize_t told = ::write(STDERR_FILENO, kNotice.data(), kNotice.size());
  }
  errno = error;
}

int64_t now_nanoseconds() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{1'000'000'000} * now.tv_sec + now.tv_nsec;
}

// Slurm sends SIGTERM to a step, to its job and through srun, and means it once.
bool is_the_same_end() {
  constexpr int64_t kSameMomentNanoseconds = 1'000'000'000;
  const int64_t now = now_nanoseconds();
  int64_t before = 0;
  if (told_to_end_at.compare_exchange_strong(before, now)) return true;
  return now - before < kSameMomentNanoseconds;
}

void on_signal(int number) {
  received = number;
  if (number == SIGTERM) {
    if (is_the_same_end()) return;
    std::signal(number, SIG_DFL);
    std::raise(number);
    return;
  }
  std::signal(number, SIG_DFL);
  if (number == SIGINT) tell_the_terminal();
}

void on_save_signal(int /*number*/) { save_asked = true; }

constexpr std::array kToStop{SIGINT, SIGTERM, SIGUSR2, SIGHUP};

bool is_ignored(int number) {
  struct sigaction now {};
  return ::sigaction(number, nullptr, &now) == 0 && now.sa_handler == SIG_IGN;
}

sigset_t held_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  sigaddset(&set, SIGUSR2);
  return set;
}

}  // namespace

void StopSignal::hold_until_handled() {
  const sigset_t held = held_signals();
  pthread_sigmask(SIG_BLOCK, &held, nullptr);
}

StopSignal::StopSignal() {
  if (holders++ > 0) return;
  received = 0;
  told_to_end_at = 0;
  save_asked = false;
  std::signal(SIGUSR1, on_save_signal);
  for (const int number : kToStop)
    if (number != SIGHUP || !is_ignored(number)) std::signal(number, on_signal);
  const sigset_t held = held_signals();
  pthread_sigmask(SIG_UNBLOCK, &held, &mask_before);
}

StopSignal::~StopSignal() {
  if (--holders > 0) return;
  pthread_sigmask(SIG_SETMASK, &mask_before, nullptr);
  std::signal(SIGUSR1, SIG_DFL);
  for (const int number : kToStop)
    if (!is_ignored(number)) std::signal(number, SIG_DFL);
}

bool StopSignal::requested() const { return received != 0; }

bool StopSignal::told_to_end() { return received == SIGTERM; }

bool StopSignal::take_save_request() { return save_asked.exchange(false); }

const char* StopSignal::name() const {
  if (received == SIGUSR2) return "SIGUSR2";
  if (received == SIGHUP) return "SIGHUP";
  return received == SIGTERM ? "SIGTERM" : "SIGINT";
}

}  // namespace tessera
