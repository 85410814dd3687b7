// SPDX-License-Identifier: Apache-2.0
#include "comm/mpi/mpi_world.h"

#include <algorithm>

namespace tessera {
namespace {

// Tags reach up to 2^31: 512 per group and pair, this many groups in each round.
constexpr int kGroupsPerRound = 4096;
constexpr int kRounds = 1023;

}  // namespace

std::unique_ptr<Communicator> MpiWorld::group(const std::vector<int>& ranks, std::string name) {
  auto group = std::make_unique<MpiGroup>();
  group->name = std::move(name);
  group->ranks = ranks;
  group->world_rank = rank();
  group->world_size = size();
  CollectiveHeader nothing;
  nothing.number = -1;
  group->last_seen.assign(ranks.size(), nothing);
  TESSERA_CHECK(engine_.round() < kRounds, "round {} of {}", engine_.round(), kRounds);
  for (size_t member = 0; member < ranks.size(); ++member) {
    const int other = ranks[member];
    TESSERA_CHECK(other >= 0 && other < size(), "rank {} of {}", other, size());
    if (other == rank()) group->member = static_cast<int>(member);
    const int nth = groups_with_[static_cast<size_t>(other)]++;
    TESSERA_CHECK(nth < kGroupsPerRound, "more than {} groups with rank {}", kGroupsPerRound,
                  other);
    group->channels.push_back(engine_.round() * kGroupsPerRound + nth);
  }
  TESSERA_CHECK(group->member >= 0, "rank {} is not in {}", rank(), group_text(group->name, ranks));
  return std::make_unique<MpiCommunicator>(engine_, std::move(group));
}

MpiCommunicator::MpiCommunicator(MpiEngine& engine, std::unique_ptr<MpiGroup> group)
    : engine_(engine), group_(std::move(group)) {
  for (int slot = 0; slot < kMpiSlots; ++slot) jobs_.push_back(std::make_unique<MpiJob>(*group_));
}

MpiCommunicator::~MpiCommunicator() {
  const bool in_flight =
      std::any_of(jobs_.begin(), jobs_.end(), [](const auto& job) { return job->active.load(); });
  if (in_flight) engine_.bury(std::move(group_), std::move(jobs_));
}

int64_t MpiCommunicator::next_number(const Collective& collective) {
  if (collective.kind == CollectiveKind::Send)
    return started_in_pairs_[{rank(), collective.root}]++;
  if (collective.kind == CollectiveKind::Recv)
    return started_in_pairs_[{collective.root, rank()}]++;
  return started_++;
}

Ticket MpiCommunicator::start(const Collective& collective) {
  check_collective(collective, rank(), size());
  const Ticket ticket = next_ticket_++;
  MpiJob& job = *jobs_[static_cast<size_t>(ticket % kMpiSlots)];
  TESSERA_CHECK(!job.active, "{}: more than {} collectives in flight; wait for some of them",
                group_text(name(), group_->ranks), kMpiSlots);
  job.operation.prepare(collective, next_number(collective));
  job.record = engine_.record().start(job.operation.header(), name());
  engine_.submit(job);
  return ticket;
}

void MpiCommunicator::wait(Ticket ticket) {
  MpiJob& job = *jobs_[static_cast<size_t>(ticket % kMpiSlots)];
  TESSERA_CHECK(job.active, "{}: ticket {} is not in flight", name(), ticket);
  engine_.wait(job);
  engine_.record().end(job.record);
}

}  // namespace tessera
