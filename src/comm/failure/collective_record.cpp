// SPDX-License-Identifier: Apache-2.0
#include "comm/failure/collective_record.h"

#include <chrono>

namespace tessera {

int64_t steady_now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

int64_t CollectiveRecord::start(const CollectiveHeader& header, std::string_view group) {
  const int64_t number = count_.fetch_add(1, std::memory_order_acq_rel);
  CollectiveEntry& entry = entries_[static_cast<size_t>(number % kEntries)];
  entry.waits_for.store(-1, std::memory_order_relaxed);
  entry.header = header;
  entry.group = {};
  group.copy(entry.group.data(), entry.group.size() - 1);
  entry.started_ns = steady_now_ns();
  entry.ended_ns.store(0, std::memory_order_release);
  return number;
}

CollectiveEntry* CollectiveRecord::find(int64_t number) {
  return count() - number <= kEntries ? &entries_[static_cast<size_t>(number % kEntries)] : nullptr;
}

void CollectiveRecord::wait_for(int64_t number, int rank, const std::atomic<uint32_t>* word,
                                uint32_t target) {
  CollectiveEntry* entry = find(number);
  if (!entry) return;
  entry->waits_since_ns = steady_now_ns();
  entry->target = target;
  entry->word.store(word, std::memory_order_relaxed);
  entry->waits_for.store(rank, std::memory_order_release);
}

void CollectiveRecord::end(int64_t number) {
  CollectiveEntry* entry = find(number);
  if (!entry) return;
  entry->waits_for.store(-1, std::memory_order_release);
  entry->ended_ns.store(steady_now_ns(), std::memory_order_release);
}

bool CollectiveRecord::waits(const CollectiveEntry& entry) {
  if (entry.ended_ns.load(std::memory_order_acquire) != 0) return false;
  if (entry.waits_for.load(std::memory_order_acquire) < 0) return false;
  const std::atomic<uint32_t>* word = entry.word.load(std::memory_order_relaxed);
  return !word || static_cast<int32_t>(word->load(std::memory_order_acquire) - entry.target) < 0;
}

}  // namespace tessera
