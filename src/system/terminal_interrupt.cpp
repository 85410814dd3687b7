// SPDX-License-Identifier: Apache-2.0
#include "system/terminal_interrupt.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <system_error>

namespace tessera {
namespace {

// A signal handler can only access globals, and it may run in any thread: what waits is woken by
// this file and not by the signal.
std::atomic<int> marks = -1;
static_assert(std::atomic<int>::is_always_lock_free);

[[noreturn]] void fail(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

void on_interrupt(int /*number*/) {
  const int error = errno;
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t told = ::write(marks, &one, sizeof one);
  errno = error;
}

}  // namespace

TerminalInterrupt::TerminalInterrupt() {
  marks = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  if (marks < 0) fail("cannot wait for Ctrl-C");
  struct sigaction action {};
  action.sa_handler = on_interrupt;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  ::sigaction(SIGINT, &action, &before_);
}

TerminalInterrupt::~TerminalInterrupt() {
  ::sigaction(SIGINT, &before_, nullptr);
  ::close(marks.exchange(-1));
}

bool TerminalInterrupt::take() {
  uint64_t count = 0;
  return ::read(marks, &count, sizeof count) == sizeof count;
}

bool TerminalInterrupt::wait_for(int file) {
  std::array<pollfd, 2> files{{{file, POLLIN, 0}, {marks, POLLIN, 0}}};
  while (::poll(files.data(), files.size(), -1) < 0) {
    if (errno != EINTR) fail("cannot wait for input");
  }
  return !take();
}

}  // namespace tessera
