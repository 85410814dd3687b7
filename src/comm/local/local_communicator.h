// SPDX-License-Identifier: Apache-2.0
// A group of ranks that share memory. start leaves pointers in a mailbox; wait reads and writes the
// peers' buffers directly. wait returns only when no peer touches this rank's buffers any more.
#pragma once

#include <map>
#include <string>

#include "comm/communicator.h"
#include "comm/local/local_world.h"
#include "comm/local/move_parts.h"
#include "comm/ticket_table.h"

namespace tessera {

class LocalCommunicator : public Communicator {
 public:
  LocalCommunicator(LocalWorld& world, Channel& channel, std::string name);
  ~LocalCommunicator() override;
  LocalCommunicator(const LocalCommunicator&) = delete;
  LocalCommunicator& operator=(const LocalCommunicator&) = delete;

  int rank() const override { return member_; }
  int size() const override { return channel_.size; }
  const std::string& name() const override { return name_; }
  Ticket start(const Collective& collective) override;
  void wait(Ticket ticket) override;

 private:
  struct Pair {
    Channel* channel = nullptr;
    int64_t started = 0;
  };
  Mailbox& claim_mailbox(const LocalOperation& op);
  void publish(LocalOperation& op, Collective collective);
  void start_in_pair(LocalOperation& op, const Collective& collective);
  void wait_for_all(const LocalOperation& op);

  LocalWorld& world_;
  Channel& channel_;
  std::string name_;
  int member_ = -1;
  int64_t started_ = 0;
  std::map<std::pair<int, int>, Pair> pairs_;  // by sender and receiver
  TicketTable<LocalOperation> in_flight_;
  MoveScratch scratch_;
};

}  // namespace tessera
