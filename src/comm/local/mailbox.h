// SPDX-License-Identifier: Apache-2.0
// What ranks leave for each other in the shared mapping. Everything here is plain bytes and
// lock-free atomics at the same address in every rank, so it works for threads and for forked
// processes.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "comm/collective_header.h"
#include "comm/failure/collective_record.h"
#include "comm/local/futex.h"
#include "comm/step_count.h"

namespace tessera {

// Inputs up to this size are sent inside the mailbox: no rank has to wait until they are read.
inline constexpr int64_t kInlineBytes = 1024;
inline constexpr int64_t kChains = 128;

enum class Stage : uint32_t { Free = 0, Started = 1, Done = 2 };

// One member's side of one collective. `word` counts up through the numbers that it is used for and
// the stages of each, so that a late reader never mistakes one use for the next. A member has a
// chain of mailboxes for the numbers with the same rest by kChains; it adds one where all of them
// are in flight, and none is ever taken away.
struct Mailbox {
  SharedWord word;
  std::atomic<Mailbox*> next;  // in the chain
  CollectiveHeader header;
  const std::byte* input = nullptr;
  Parts input_parts;
  std::byte* output = nullptr;
  Parts output_parts;
  alignas(64) std::array<std::byte, kInlineBytes> inline_input;
};

// Words before and after wrapping round compare by distance.
inline uint32_t word_at(int64_t number, Stage stage) {
  return static_cast<uint32_t>(number) * 4 + static_cast<uint32_t>(stage);
}
inline Stage stage_of(uint32_t word) { return static_cast<Stage>(word % 4); }
inline bool reached(uint32_t word, uint32_t target) {
  return static_cast<int32_t>(word - target) >= 0;
}

// How far one member of a channel is.
struct MemberProgress {
  SharedWord started;  // how many
  std::atomic<const Mailbox*> last{nullptr};
};

// The mailboxes of one group, or of one direction between two of its members (`parent`).
struct Channel {
  Channel* next = nullptr;  // in the hub's list
  const Channel* parent = nullptr;
  int32_t occurrence = 0;  // of several groups with the same ranks
  int32_t size = 0;
  int32_t* ranks = nullptr;
  MemberProgress* progress = nullptr;  // per member
  Mailbox* mailboxes = nullptr;        // the first of each chain, per member

  std::span<const int> members() const { return {ranks, static_cast<size_t>(size)}; }
  Mailbox& first_of_chain(int member, int64_t number) const {
    return mailboxes[member * kChains + number % kChains];
  }
  bool has_started(int member, int64_t number) const {
    return reached(progress[member].started.value.load(std::memory_order_acquire),
                   static_cast<uint32_t>(number) + 1);
  }
  // Of a collective that the member has started; null: all are done with it and it holds another.
  Mailbox* find(int member, int64_t number) const {
    Mailbox* each = &first_of_chain(member, number);
    while (each && each->word.value.load(std::memory_order_acquire) / 4 != word_at(number, {}) / 4)
      each = each->next.load(std::memory_order_acquire);
    return each;
  }
};

// What one rank shows to all.
struct alignas(64) Seat {
  enum Life : uint32_t { Running, Ended, Failed };
  std::atomic<uint32_t> life{Running};
  std::atomic<int32_t> reading{0};  // > 0 while it touches peers' memory
  SharedWord bell;                  // rung by the other end of a send or receive
  std::atomic<int32_t> process{0};  // its id
  StepCount steps;
  CollectiveRecord record;
};

// The first failure of all; whoever finds `state` at 0 writes it.
struct Failure {
  static constexpr size_t kTextBytes = 2048;
  enum Kind : uint32_t { Peer, User, Bug };
  SharedWord state;  // 0 none, 1 being written, 2 there
  std::atomic<int32_t> rank{-1};
  int32_t guilty_rank = -1;
  Kind kind = Peer;
  char text[kTextBytes] = {};  // of User: message, place and help, each ended by a zero
};

}  // namespace tessera
