// SPDX-License-Identifier: Apache-2.0
// The last collectives of one rank, always kept: a ring of plain bytes that others may read while
// it is written, also in the memory of a process that was stopped. For failure reports.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string_view>

#include "comm/collective_header.h"

namespace tessera {

struct CollectiveEntry {
  CollectiveHeader header;
  std::array<char, 24> group;     // its name, cut to fit
  int64_t started_ns;             // of the steady clock, which processes of a machine share
  std::atomic<int64_t> ended_ns;  // 0: in flight
  // While its rank sleeps in it: for whom, since when, and the word that would end the wait; null
  // where ranks share no memory.
  std::atomic<int32_t> waits_for;  // -1: nobody
  int64_t waits_since_ns;
  std::atomic<const std::atomic<uint32_t>*> word;
  uint32_t target;
};

class CollectiveRecord {
 public:
  static constexpr int64_t kEntries = 64;

  // From any thread of the rank. Returns the entry's number.
  int64_t start(const CollectiveHeader& header, std::string_view group);
  // Without a word it waits until it ends.
  void wait_for(int64_t number, int rank, const std::atomic<uint32_t>* word = nullptr,
                uint32_t target = 0);
  void end(int64_t number);

  int64_t count() const { return count_.load(std::memory_order_acquire); }
  // One of the last kEntries.
  const CollectiveEntry& at(int64_t number) const {
    return entries_[static_cast<size_t>(number % kEntries)];
  }
  // Started, not ended, and its rank sleeps in it while what it waits for is not there.
  static bool waits(const CollectiveEntry& entry);

 private:
  // Null where later ones have taken its place.
  CollectiveEntry* find(int64_t number);

  std::atomic<int64_t> count_{0};
  std::array<CollectiveEntry, kEntries> entries_{};
};

int64_t steady_now_ns();

}  // namespace tessera
