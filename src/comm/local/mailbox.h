// SPDX-License-Identifier: Apache-2.0
// What ranks leave for each other in the shared mapping. Everything here is plain bytes and
// lock-free atomics at the same address in every rank, so threads and forked processes are alike.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "comm/collective_header.h"
#include "comm/collective_record.h"
#include "comm/local/futex.h"
#include "comm/step_count.h"

namespace tessera {

// Inputs up to this size travel inside the mailbox: nobody need wait until they were read.
inline constexpr int64_t kInlineBytes = 1024;
inline constexpr int64_t kSlots = 128;  // collectives of one group in flight

enum class Stage : uint32_t { Free = 0, Started = 1, Done = 2 };

// One member's side of one collective. Slot s is used by numbers s, s + kSlots, ...; `word` counts
// up through the stages of each, so that a late reader never mistakes one use for the next.
struct Mailbox {
  SharedWord word;
  CollectiveHeader header;
  const std::byte* input = nullptr;
  Parts input_parts;
  std::byte* output = nullptr;
  Parts output_parts;
  alignas(64) std::array<std::byte, kInlineBytes> inline_input;
};

// Words before and after wrapping round compare by distance.
inline uint32_t word_at(int64_t number, Stage stage) {
  return static_cast<uint32_t>(number / kSlots) * 4 + static_cast<uint32_t>(stage);
}
inline bool reached(uint32_t word, uint32_t target) {
  return static_cast<int32_t>(word - target) >= 0;
}

// The mailboxes of one group, or of one direction between two of its members (`parent`).
struct Channel {
  Channel* next = nullptr;  // in the hub's list
  const Channel* parent = nullptr;
  int32_t occurrence = 0;  // of several groups with the same ranks
  int32_t size = 0;
  int32_t* ranks = nullptr;
  std::atomic<int64_t>* last_started =
      nullptr;  // the board: number per member, -1 before the first
  Mailbox* mailboxes = nullptr;

  std::span<const int> members() const { return {ranks, static_cast<size_t>(size)}; }
  Mailbox& mailbox(int member, int64_t number) const {
    return mailboxes[member * kSlots + number % kSlots];
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
  char text[kTextBytes] = {};  // of User: message, place and help, a zero behind each
};

}  // namespace tessera
