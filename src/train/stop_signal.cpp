// SPDX-License-Identifier: Apache-2.0
#include "train/stop_signal.h"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <string_view>

namespace tessera {
namespace {

// A signal handler can reach nothing but a global, and it may run in any thread of the process.
std::atomic<int> received = 0;
std::atomic<bool> save_asked = false;
std::atomic<int> holders = 0;
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<bool>::is_always_lock_free);

// Whoever presses a key waits for a sign; in a job, ranks have another group than the terminal's.
void tell_the_terminal() {
  constexpr std::string_view kNotice = "\nstopping behind this step; once more ends it at once\n";
  const int error = errno;
  if (::tcgetpgrp(STDERR_FILENO) == ::getpgrp()) {
    [[maybe_unused]] const ssize_t told = ::write(STDERR_FILENO, kNotice.data(), kNotice.size());
  }
  errno = error;
}

void on_signal(int number) {
  received = number;
  std::signal(number, SIG_DFL);
  if (number == SIGINT) tell_the_terminal();
}

void on_save_signal(int /*number*/) { save_asked = true; }

}  // namespace

StopSignal::StopSignal() {
  if (holders++ > 0) return;
  received = 0;
  save_asked = false;
  std::signal(SIGUSR1, on_save_signal);
  std::signal(SIGINT, on_signal);
  std::signal(SIGTERM, on_signal);
  std::signal(SIGUSR2, on_signal);
}

StopSignal::~StopSignal() {
  if (--holders > 0) return;
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
  std::signal(SIGUSR1, SIG_DFL);
  std::signal(SIGUSR2, SIG_DFL);
}

bool StopSignal::requested() const { return received != 0; }

bool StopSignal::told_to_end() { return received == SIGTERM; }

bool StopSignal::take_save_request() { return save_asked.exchange(false); }

const char* StopSignal::name() const {
  if (received == SIGUSR2) return "SIGUSR2";
  return received == SIGTERM ? "SIGTERM" : "SIGINT";
}

}  // namespace tessera
