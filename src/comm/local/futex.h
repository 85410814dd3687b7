// SPDX-License-Identifier: Apache-2.0
// Sleeping on a word of memory that several processes may share.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstdint>
#include <ctime>

namespace tessera {

static_assert(std::atomic<uint32_t>::is_always_lock_free &&
                  std::atomic<int64_t>::is_always_lock_free,
              "words in shared memory must work across processes");

// A word that others wait for. Who changes it calls wake_all after.
struct alignas(64) SharedWord {
  std::atomic<uint32_t> value{0};
  std::atomic<uint32_t> sleepers{0};

  void set(uint32_t next) {
    value.store(next, std::memory_order_seq_cst);
    wake_all();
  }
  void bump() {
    value.fetch_add(1, std::memory_order_seq_cst);
    wake_all();
  }
  // Returns when the word is no longer `seen`, after `seconds` (below 1), or for no reason.
  void sleep_while(uint32_t seen, double seconds) {
    const timespec limit{.tv_sec = 0, .tv_nsec = static_cast<long>(seconds * 1e9)};
    sleepers.fetch_add(1, std::memory_order_seq_cst);
    if (value.load(std::memory_order_seq_cst) == seen)
      syscall(SYS_futex, &value, FUTEX_WAIT, seen, &limit, nullptr, 0);
    sleepers.fetch_sub(1, std::memory_order_seq_cst);
  }

 private:
  void wake_all() {
    if (sleepers.load(std::memory_order_seq_cst) > 0)
      syscall(SYS_futex, &value, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
  }
};

}  // namespace tessera
