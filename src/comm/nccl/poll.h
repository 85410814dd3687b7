// SPDX-License-Identifier: Apache-2.0
// Looking again until something is so, up to a deadline.
#pragma once

#include <chrono>
#include <thread>

namespace tessera {

// False: `done` was false for all of the deadline. `state` is a number; whenever it changes, the
// deadline starts again.
template <typename Done, typename State>
bool poll(double deadline_seconds, Done&& done, State&& state) {
  using Clock = std::chrono::steady_clock;
  auto begin = Clock::now();
  for (auto last = state(); !done();) {
    if (const auto now = state(); now != last) {
      last = now;
      begin = Clock::now();
    }
    if (std::chrono::duration<double>(Clock::now() - begin).count() > deadline_seconds)
      return false;
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
  return true;
}

}  // namespace tessera
