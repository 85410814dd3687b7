// SPDX-License-Identifier: Apache-2.0
// Ranks that share one GPU, all served by one thread. A collective is enqueued when the last of its
// members starts it, after what each of them had enqueued when it started; waiting for it makes a
// rank's stream wait and never the thread.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "comm/communicator.h"
#include "comm/failure/rank_report.h"
#include "comm/nccl/nccl_progress.h"
#include "exec/cuda/device_memory.h"

namespace tessera {

// Makes what the stream is given from now on wait for the event.
inline void hold_back(const DeviceStream& stream, const DeviceEvent& event) {
  check_cuda(cudaStreamWaitEvent(stream.get(), event.get(), 0), "wait for an event");
}

// One collective that members are starting, or a message between two of them.
struct DeviceFlight {
  std::vector<Collective> posted;         // by member; of a message: sender, receiver
  std::vector<const DeviceEvent*> ready;  // by member; null: has not started it
  const DeviceEvent* done = nullptr;      // null: not enqueued yet
  size_t waits_left = 0;
};

// In the order in which every member starts them.
struct DeviceQueue {
  std::deque<std::shared_ptr<DeviceFlight>> open;  // that some member has yet to start
  std::vector<size_t> ahead;                       // by member: how many of `open` it has started
};

struct DeviceGroup {
  std::string name;
  std::vector<int> ranks;
  DeviceQueue collectives;
  std::map<std::pair<int, int>, DeviceQueue> messages;  // by sender and receiver
};

class DeviceHub {
 public:
  explicit DeviceHub(int ranks);
  ~DeviceHub();

  RankWorld& world(int rank) const;
  const DeviceStream& stream(int rank) const { return streams_[static_cast<size_t>(rank)]; }

  DeviceGroup& group(const std::vector<int>& ranks, const std::string& name);
  std::shared_ptr<DeviceFlight> start(DeviceGroup& group, int member, const Collective& collective);
  void wait(DeviceFlight& flight, int rank);
  // What some ranks have started and others not: "all_gather over tp={0,1}, not started by rank 1".
  std::string unfinished() const;

  // For failure reports, from any thread while the one that serves the ranks is stuck.
  // Changes whenever the GPU begins or ends a collective.
  int64_t progress() const;
  // What the GPU has begun and not ended; empty: nothing.
  std::string in_flight() const;
  // Adds whom each rank waits for, by rank, and what the GPU has in flight for it.
  void add_waits(std::span<RankReport> reports) const;

 private:
  const DeviceEvent* take_event();
  void give_back(const DeviceEvent* event) { free_events_.push_back(event); }
  void enqueue(const DeviceGroup& group, DeviceFlight& flight, int first_rank);
  template <typename See>
  void for_each_open(const See& see) const;

  std::vector<std::unique_ptr<RankWorld>> worlds_;
  std::vector<DeviceStream> streams_, communication_;  // by rank
  std::vector<NcclProgress> progress_;                 // of the streams of communication
  // By stream and by number of what it was given.
  std::vector<std::map<int32_t, std::vector<int>>> members_;
  std::vector<std::unique_ptr<DeviceGroup>> groups_;
  std::deque<DeviceEvent> events_;
  std::vector<const DeviceEvent*> free_events_;
};

}  // namespace tessera
