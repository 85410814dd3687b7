// SPDX-License-Identifier: Apache-2.0
// The meeting place of ranks that share memory: one mapping with mailboxes, the board of failures
// and, for callers, memory that forked processes see at the same address. Make it before the ranks.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "comm/communicator.h"
#include "comm/local/mailbox.h"

namespace tessera {

struct LocalHubOptions {
  int ranks = 1;
  int64_t arena_bytes = 0;        // for allocate
  double deadline_seconds = 120;  // of every wait
  bool processes = false;         // ranks are forked: buffers not from allocate are copied twice
};

class LocalHub {
 public:
  explicit LocalHub(const LocalHubOptions& options);
  ~LocalHub();
  LocalHub(const LocalHub&) = delete;
  LocalHub& operator=(const LocalHub&) = delete;

  const LocalHubOptions& options() const { return options_; }
  bool spins() const { return spins_; }  // only where every rank has a core

  // Page-aligned, zero at first, given back with the hub. From any rank, or before there are any.
  std::byte* allocate(int64_t bytes);
  bool owns(const std::byte* data) const { return data >= base_ && data < base_ + bytes_; }

  Seat& seat(int rank) const { return seats_[rank]; }
  Channel& channel(const Channel* parent, const std::vector<int>& ranks, int occurrence);
  Mailbox& another_mailbox();  // kept with the hub

  // Records the first failure and returns once no rank reads another's memory any more.
  void fail(int rank, int guilty_rank, Failure::Kind kind, const std::string& text);
  // This rank unwinds with collectives in flight: stops the others from touching its memory now;
  // the reason follows with fail or end.
  void abandon(int rank);
  void end(int rank);
  bool failed() const { return failure_->state.value.load(std::memory_order_seq_cst) != 0; }
  const Failure& failure() const;  // waits until it is written

 private:
  struct Control;
  void write_failure(int rank, int guilty_rank, Failure::Kind kind, const std::string& text);
  void await_no_touching(int rank) const;
  template <typename T>
  T* make(int64_t count);
  Channel* find(const Channel* parent, const std::vector<int>& ranks, int occurrence) const;

  LocalHubOptions options_;
  bool spins_ = false;
  std::byte* base_ = nullptr;
  int64_t bytes_ = 0, control_bytes_ = 0;
  Control* control_ = nullptr;
  Seat* seats_ = nullptr;
  Failure* failure_ = nullptr;
};

}  // namespace tessera
