// SPDX-License-Identifier: Apache-2.0
#include "comm/mpi/mpi_world.h"

#include <algorithm>

namespace tessera {
namespace {

// Tags reach up to 2^31.
constexpr int kGroupsPerRound = 512;
constexpr int kRounds = 1023;
static_assert(int64_t{kRounds + 1} * kGroupsPerRound * kMpiTagsPerGroup == int64_t{1} << 31);
static_assert(TicketTable<MpiJob>::kMostPlaces < kMpiTagsPerKind);

}  // namespace

std::unique_ptr<Communicator> MpiWorld::group(const std::vector<int>& ranks, std::string name) {
  auto group = std::make_unique<MpiGroup>();
  group->name = std::move(name);
  group->ranks = ranks;
  group->world_rank = rank();
  group->world_size = size();
  group->largest_message_bytes = largest_message_bytes_;
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

std::optional<PeerError> MpiWorld::told_of_failure() const {
  const std::optional<MpiFailure> failure = engine_.failure();
  if (!failure) return std::nullopt;
  return PeerError(failure->guilty_rank, fmt::format("stopped because rank {} failed: {}",
                                                     failure->guilty_rank, failure->text));
}

MpiCommunicator::MpiCommunicator(MpiEngine& engine, std::unique_ptr<MpiGroup> group)
    : engine_(engine), group_(std::move(group)) {}

MpiCommunicator::~MpiCommunicator() {
  if (jobs_.has_any_in_flight()) engine_.bury(std::move(group_), jobs_.release());
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
  const Ticket ticket = jobs_.take([this] { return std::make_unique<MpiJob>(*group_); });
  MpiJob& job = *jobs_.find(ticket);
  job.operation.prepare(collective, next_number(collective));
  job.record = engine_.record().start(job.operation.header(), name());
  engine_.submit(job);
  return ticket;
}

void MpiCommunicator::wait(Ticket ticket) {
  MpiJob* job = jobs_.find(ticket);
  TESSERA_CHECK(job, "{}: ticket {} is not in flight", name(), ticket);
  engine_.wait(*job);
  engine_.record().end(job->record);
  jobs_.give_back(ticket);
}

}  // namespace tessera
