// SPDX-License-Identifier: Apache-2.0
// One rank's view of an MPI job. Groups need no messages to be made: the k-th group that two ranks
// share is the k-th on both sides, which gives their messages tags of their own.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "comm/communicator.h"
#include "comm/failure/job_failures.h"
#include "comm/mpi/mpi_engine.h"
#include "comm/mpi/mpi_reporter.h"
#include "comm/ticket_table.h"

namespace tessera {

class MpiCommunicator : public Communicator {
 public:
  MpiCommunicator(MpiEngine& engine, std::unique_ptr<MpiGroup> group);
  ~MpiCommunicator() override;
  MpiCommunicator(const MpiCommunicator&) = delete;
  MpiCommunicator& operator=(const MpiCommunicator&) = delete;

  int rank() const override { return group_->member; }
  int size() const override { return group_->size(); }
  const std::string& name() const override { return group_->name; }
  Ticket start(const Collective& collective) override;
  void wait(Ticket ticket) override;

 private:
  int64_t next_number(const Collective& collective);

  MpiEngine& engine_;
  std::unique_ptr<MpiGroup> group_;
  int64_t started_ = 0;
  std::map<std::pair<int, int>, int64_t> started_in_pairs_;  // by sender and receiver
  TicketTable<MpiJob> jobs_;
};

class MpiWorld : public RankWorld, public JobFailures {
 public:
  MpiWorld(MpiEngine& engine, MpiReporter& reporter, int64_t largest_message_bytes)
      : engine_(engine),
        reporter_(reporter),
        largest_message_bytes_(largest_message_bytes),
        groups_with_(static_cast<size_t>(engine.size())) {}

  int rank() const override { return engine_.rank(); }
  int size() const override { return engine_.size(); }
  std::unique_ptr<Communicator> group(const std::vector<int>& ranks, std::string name) override;
  std::string_view ranks_as() const override { return "processes over MPI"; }
  void also_report(std::function<void(RankReport&)> add) override {
    reporter_.also_report(std::move(add));
  }
  std::optional<PeerError> told_of_failure() const override;
  void at_step(int64_t step) override {
    engine_.at_step(step);
    reporter_.begin();
  }

 private:
  MpiEngine& engine_;
  MpiReporter& reporter_;
  int64_t largest_message_bytes_;
  std::vector<int> groups_with_;  // per rank: groups made so far that it is in as well
};

}  // namespace tessera
