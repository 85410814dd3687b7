// SPDX-License-Identifier: Apache-2.0
// One rank's end of a group over NCCL. Communicators do not block, so that a deadline can be kept.
// Parts that do not follow one another are copied aside, into room that is kept.
#pragma once

#include <cuda_runtime_api.h>

#include <map>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "comm/communicator.h"
#include "comm/nccl/nccl_library.h"
#include "comm/nccl/nccl_progress.h"

namespace tessera {

class NcclCommunicator : public Communicator {
 public:
  // All members make it together. `bootstrap` is the same group on the host, `ranks` are the
  // world's.
  NcclCommunicator(std::unique_ptr<Communicator> bootstrap, std::vector<int> ranks,
                   cudaStream_t compute, double deadline_seconds);
  ~NcclCommunicator() override;
  NcclCommunicator(const NcclCommunicator&) = delete;
  NcclCommunicator& operator=(const NcclCommunicator&) = delete;

  int rank() const override { return bootstrap_->rank(); }
  int size() const override { return bootstrap_->size(); }
  const std::string& name() const override { return bootstrap_->name(); }

  Ticket start(const Collective& collective) override;
  void start_together(std::span<const Collective> collectives, std::span<Ticket> tickets) override;
  void wait(Ticket ticket) override;  // the compute stream does, not this thread

  const std::vector<int>& ranks() const { return ranks_; }  // of the world
  int64_t progress() const { return progress_.state(); }
  std::string unfinished() const;  // "all_gather %w over dp={0,1}"; empty: nothing
  std::string failure() const;     // what NCCL says of it; empty: nothing
  void abort();  // before graphs that it is in are gone, its end must not be waited for

 private:
  // A collective with its parts one after another.
  struct Staged {
    const Collective* collective;
    const std::byte* from;
    std::byte* to;
  };

  void make_comm();
  void release();
  void connect();  // every pair of members
  void enqueue(std::span<const Collective> collectives);
  void call_together(std::span<const Staged> staged, const std::string& what);
  void enqueue_rows(const Collective& rows, const std::string& what);
  std::vector<Staged> stage(std::span<const Collective> collectives);
  ncclResult_t call(const Staged& staged) const;
  void check(ncclResult_t result, const std::string& what) const;
  void settle(const std::string& what);  // until NCCL has taken what it was given
  std::string title(const Collective& collective) const;
  std::byte* room(size_t bytes);
  cudaEvent_t event();

  const Nccl& nccl_ = Nccl::get();
  std::unique_ptr<Communicator> bootstrap_;
  std::vector<int> ranks_;
  cudaStream_t compute_;
  double deadline_seconds_;  // without any progress
  ncclComm_t comm_ = nullptr;
  std::thread aborting_;
  cudaStream_t stream_ = nullptr;  // its own: a message that waits holds back no other group
  NcclProgress progress_;
  std::map<Ticket, cudaEvent_t> done_;
  std::vector<cudaEvent_t> free_events_;
  Ticket next_ticket_ = 0;
  std::vector<void*> rooms_;  // the last is the largest; recorded steps may know the others
  size_t room_bytes_ = 0;
};

}  // namespace tessera
