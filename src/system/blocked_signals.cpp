// SPDX-License-Identifier: Apache-2.0
#include "system/blocked_signals.h"

#include <algorithm>
#include <cerrno>
#include <ctime>

namespace tessera {

BlockedSignals::BlockedSignals(std::initializer_list<int> signals) {
  sigemptyset(&set_);
  struct sigaction now {};
  for (const int signal : signals) {
    // Otherwise a signal that nohup ignores would be waited for.
    const bool off =
        signal == SIGHUP && ::sigaction(signal, nullptr, &now) == 0 && now.sa_handler == SIG_IGN;
    if (!off) sigaddset(&set_, signal);
  }
  pthread_sigmask(SIG_BLOCK, &set_, &before_);
}

int BlockedSignals::next() const {
  int signal = 0;
  while (sigwait(&set_, &signal) == EINTR) {
  }
  return signal;
}

int BlockedSignals::next_within(double seconds) const {
  timespec limit{};
  limit.tv_sec = static_cast<time_t>(seconds);
  limit.tv_nsec = static_cast<long>((seconds - static_cast<double>(limit.tv_sec)) * 1e9);
  return std::max(0, sigtimedwait(&set_, nullptr, &limit));
}

}  // namespace tessera
