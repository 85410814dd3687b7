// SPDX-License-Identifier: Apache-2.0
// One rank's view of a LocalHub: its groups, its waits, and its posted receives. Whenever it waits
// for anything it also completes receives that have arrived, so that no order of waits deadlocks.
#pragma once

#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "comm/communicator.h"
#include "comm/local/local_hub.h"
#include "comm/local/local_operation.h"
#include "comm/local/staging.h"

namespace tessera {

class LocalWorld : public RankWorld {
 public:
  LocalWorld(LocalHub& hub, int rank);
  ~LocalWorld() override { hub_.end(rank_); }

  int rank() const override { return rank_; }
  int size() const override { return hub_.options().ranks; }
  // In local_communicator.cpp, so that communicators know the world and not the other way round.
  std::unique_ptr<Communicator> group(const std::vector<int>& ranks, std::string name) override;
  std::string_view ranks_as() const override;
  std::byte* allocate(int64_t bytes) override;
  void at_step(int64_t step) override;

  LocalHub& hub() const { return hub_; }
  Staging& staging() { return staging_; }
  CollectiveRecord& record() { return hub_.seat(rank_).record; }

  // Returns when `other` has reached the stage; throws PeerError when it will not.
  void await(const LocalOperation& op, int other, Stage stage);
  void check_same(const LocalOperation& op, int other);
  // Between these two, peers' memory may be read and written; throws when a peer has failed.
  void begin_touching(const LocalOperation& op);
  void end_touching() { hub_.seat(rank_).reading.fetch_sub(1, std::memory_order_seq_cst); }

  void add_receive(const LocalOperation* receive);
  void forget_receive(const LocalOperation* receive);
  void await_sent(const LocalOperation& send);
  void await_received(const LocalOperation& receive);

 private:
  using Clock = std::chrono::steady_clock;
  // Throws when the run has failed, the peer has ended, or the deadline has passed.
  void check_peer(const LocalOperation& op, int other, Stage stage, Clock::time_point begin);
  // Whether it has begun a later step than this thread, where this is the thread of the steps.
  bool is_ahead(int other_rank) const;
  [[noreturn]] void fail_late(const LocalOperation& op, int other);
  [[noreturn]] void throw_stopped(const LocalOperation& op);
  [[noreturn]] void fail(int guilty_rank, const std::string& text);
  std::string whereabouts(const LocalOperation& op, int other) const;
  std::string prefix(const LocalOperation& op) const;
  // Waits until a send or receive is done; `stage` is what the other end owes.
  template <typename Done>
  void await_pair(const LocalOperation& op, Stage stage, const Done& done);
  void take_receives();  // those that have arrived
  bool take(const LocalOperation& receive);

  LocalHub& hub_;
  int rank_;
  Staging staging_;
  std::map<std::vector<int>, int> occurrences_;
  std::atomic<std::thread::id> step_thread_{};  // which calls at_step
  std::mutex receives_mutex_;
  std::vector<const LocalOperation*> receives_;
};

// One of the hub's ranks.
std::unique_ptr<RankWorld> make_local_world(LocalHub& hub, int rank);

}  // namespace tessera
