// SPDX-License-Identifier: Apache-2.0
// Blocks signals and waits for them instead of handling them, so that no state is shared with a
// handler.
#pragma once

#include <csignal>
#include <initializer_list>

namespace tessera {

// Blocks them in this thread, and in those that it starts, for the lifetime of this object. SIGHUP
// stays ignored if it is (nohup).
class BlockedSignals {
 public:
  explicit BlockedSignals(std::initializer_list<int> signals);
  ~BlockedSignals() { restore(); }
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;

  // Restores the previous mask; for a child that was forked since.
  void restore() const { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  int next() const;
  int next_within(double seconds) const;  // 0 when the time has passed

 private:
  sigset_t set_{}, before_{};
};

}  // namespace tessera
