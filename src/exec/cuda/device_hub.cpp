// SPDX-License-Identifier: Apache-2.0
#include "exec/cuda/device_hub.h"

#include <algorithm>

#include "comm/collective_header.h"
#include "comm/row_moves.h"
#include "exec/cuda/part_moves.h"

namespace tessera {
namespace {

bool is_message(const Collective& collective) {
  return collective.kind == CollectiveKind::Send || collective.kind == CollectiveKind::Recv;
}

class DeviceCommunicator : public Communicator {
 public:
  DeviceCommunicator(DeviceHub& hub, DeviceGroup& group, int rank)
      : hub_(hub),
        group_(group),
        rank_(rank),
        member_(static_cast<int>(std::ranges::find(group.ranks, rank) - group.ranks.begin())) {}

  int rank() const override { return member_; }
  int size() const override { return static_cast<int>(group_.ranks.size()); }
  const std::string& name() const override { return group_.name; }

  Ticket start(const Collective& collective) override {
    check_collective(collective, rank(), size());
    flights_[next_] = hub_.start(group_, member_, collective);
    return next_++;
  }
  bool may_wait(Ticket ticket) const override { return flights_.at(ticket)->done != nullptr; }
  void wait(Ticket ticket) override {
    hub_.wait(*flights_.at(ticket), rank_);
    flights_.erase(ticket);
  }

 private:
  DeviceHub& hub_;
  DeviceGroup& group_;
  int rank_;    // in the world
  int member_;  // in the group
  Ticket next_ = 0;
  std::map<Ticket, std::shared_ptr<DeviceFlight>> flights_;
};

class DeviceWorld : public RankWorld {
 public:
  DeviceWorld(DeviceHub& hub, int rank, int ranks) : hub_(hub), rank_(rank), ranks_(ranks) {}
  int rank() const override { return rank_; }
  int size() const override { return ranks_; }
  std::unique_ptr<Communicator> group(const std::vector<int>& ranks, std::string name) override {
    return std::make_unique<DeviceCommunicator>(hub_, hub_.group(ranks, name), rank_);
  }

 private:
  DeviceHub& hub_;
  int rank_, ranks_;
};

DevicePart input_of(const DeviceFlight& flight, size_t member, size_t part) {
  const Collective& posted = flight.posted[member];
  // Only read; one type for both ends keeps the kernels' arguments simple.
  return {const_cast<std::byte*>(posted.input), posted.input_parts, static_cast<int64_t>(part)};
}

DevicePart output_of(const DeviceFlight& flight, size_t member, size_t part) {
  const Collective& posted = flight.posted[member];
  return {posted.output, posted.output_parts, static_cast<int64_t>(part)};
}

void enqueue_moves(const DeviceFlight& flight, const DeviceStream& stream) {
  const Collective& first = flight.posted[0];
  const size_t members = flight.posted.size();
  std::vector<PartCopy> copies;
  std::vector<DevicePart> sources, targets;
  switch (first.kind) {
    case CollectiveKind::AllGather:
    case CollectiveKind::AllToAll:
      for (size_t to = 0; to < members; ++to)
        for (size_t from = 0; from < members; ++from)
          copies.push_back({input_of(flight, from, first.kind == CollectiveKind::AllToAll ? to : 0),
                            output_of(flight, to, from)});
      return enqueue_copies(first.dtype, copies, stream);
    case CollectiveKind::ReduceScatter:
      for (size_t part = 0; part < members; ++part) {
        sources.clear();
        for (size_t from = 0; from < members; ++from)
          sources.push_back(input_of(flight, from, part));
        targets = {output_of(flight, part, 0)};
        enqueue_reduction(first.dtype, first.reduction, sources, targets, stream);
      }
      return;
    case CollectiveKind::AllReduce:
      for (size_t member = 0; member < members; ++member) {
        sources.push_back(input_of(flight, member, 0));
        targets.push_back(output_of(flight, member, 0));
      }
      return enqueue_reduction(first.dtype, first.reduction, sources, targets, stream);
    case CollectiveKind::Send:
      copies = {{input_of(flight, 0, 0), output_of(flight, 1, 0)}};
      return enqueue_copies(first.dtype, copies, stream);
    case CollectiveKind::PutRows:
    case CollectiveKind::TakeRows:
      enqueue_row_moves(flight.posted, stream.get());
      return check_cuda(cudaGetLastError(), "move rows between ranks");
    default:  // no op is one of the others
      check_failed("a collective of an op", __FILE__, __LINE__, std::string(name(first.kind)));
  }
}

}  // namespace

DeviceHub::DeviceHub(int ranks)
    : streams_(static_cast<size_t>(ranks)),
      communication_(static_cast<size_t>(ranks)),
      progress_(static_cast<size_t>(ranks)),
      members_(static_cast<size_t>(ranks)) {
  for (int rank = 0; rank < ranks; ++rank)
    worlds_.push_back(std::make_unique<DeviceWorld>(*this, rank, ranks));
}

DeviceHub::~DeviceHub() = default;

RankWorld& DeviceHub::world(int rank) const { return *worlds_[static_cast<size_t>(rank)]; }

DeviceGroup& DeviceHub::group(const std::vector<int>& ranks, const std::string& name) {
  for (const auto& each : groups_)
    if (each->ranks == ranks && each->name == name) return *each;
  if (ranks.size() > kMostSharers)
    throw user_error("{} ranks of one GPU in a group ({}), but {} is the most", ranks.size(), name,
                     kMostSharers)
        .help("use a smaller mesh, or --device cpu");
  groups_.push_back(std::make_unique<DeviceGroup>());
  groups_.back()->name = name;
  groups_.back()->ranks = ranks;
  return *groups_.back();
}

const DeviceEvent* DeviceHub::take_event() {
  if (free_events_.empty()) return &events_.emplace_back();
  const DeviceEvent* event = free_events_.back();
  free_events_.pop_back();
  return event;
}

std::shared_ptr<DeviceFlight> DeviceHub::start(DeviceGroup& group, int member,
                                               const Collective& collective) {
  const bool message = is_message(collective), sends = collective.kind == CollectiveKind::Send;
  const int peer = collective.root;
  DeviceQueue& queue = !message ? group.collectives
                       : sends  ? group.messages[{member, peer}]
                                : group.messages[{peer, member}];
  const size_t members = message ? 2 : group.ranks.size();
  const auto me = static_cast<size_t>(message ? (sends ? 0 : 1) : member);
  queue.ahead.resize(members);
  if (queue.ahead[me] == queue.open.size()) {
    queue.open.push_back(std::make_shared<DeviceFlight>());
    queue.open.back()->posted.resize(members);
    queue.open.back()->ready.resize(members);
    queue.open.back()->waits_left = members;
  }
  const std::shared_ptr<DeviceFlight> flight = queue.open[queue.ahead[me]++];
  const int rank = group.ranks[static_cast<size_t>(member)];
  flight->posted[me] = collective;
  flight->ready[me] = take_event();
  flight->ready[me]->record(stream(rank));
  for (size_t other = 0; other < members; ++other) {
    if (!flight->ready[other]) return flight;
    const CollectiveHeader theirs = header_of(flight->posted[other], 0);
    TESSERA_CHECK(header_of(collective, 0).same_as(theirs), "{} runs {}, but another rank {}",
                  group_text(group.name, group.ranks), full(header_of(collective, 0)),
                  full(theirs));
  }
  const int first = message ? (sends ? member : peer) : 0;
  enqueue(group, *flight, group.ranks[static_cast<size_t>(first)]);
  queue.open.pop_front();
  for (size_t& ahead : queue.ahead) --ahead;
  return flight;
}

// On a stream of the first member's, so that a group's collectives keep their order.
void DeviceHub::enqueue(const DeviceGroup& group, DeviceFlight& flight, int first_rank) {
  const DeviceStream& stream = communication_[static_cast<size_t>(first_rank)];
  for (const DeviceEvent* ready : flight.ready) {
    hold_back(stream, *ready);
    give_back(ready);
  }
  NcclProgress& progress = progress_[static_cast<size_t>(first_rank)];
  try {
    const std::string title = fmt::format("{} over {}", brief(header_of(flight.posted[0], 0)),
                                          group_text(group.name, group.ranks));
    members_[static_cast<size_t>(first_rank)][progress.begin(stream.get(), title)] = group.ranks;
    enqueue_moves(flight, stream);
    progress.end(stream.get());
  } catch (const CudaError& error) {
    throw CudaError(fmt::format("{} over {}: {}", full(header_of(flight.posted[0], 0)),
                                group_text(group.name, group.ranks), error.what()));
  }
  flight.done = take_event();
  flight.done->record(stream);
}

void DeviceHub::wait(DeviceFlight& flight, int rank) {
  TESSERA_CHECK(flight.done, "rank {} waits for a collective that others have yet to start", rank);
  hold_back(stream(rank), *flight.done);
  if (--flight.waits_left == 0) give_back(flight.done);
}

// The collectives and messages that some members have started and others not.
template <typename See>
void DeviceHub::for_each_open(const See& see) const {
  for (const auto& group : groups_) {
    if (!group->collectives.open.empty())
      see(*group, *group->collectives.open.front(), group->ranks);
    for (const auto& [ends, queue] : group->messages)
      if (!queue.open.empty())
        see(*group, *queue.open.front(),
            std::vector<int>{group->ranks[static_cast<size_t>(ends.first)],
                             group->ranks[static_cast<size_t>(ends.second)]});
  }
}

std::string DeviceHub::unfinished() const {
  std::string text;
  for_each_open([&](const DeviceGroup& group, const DeviceFlight& flight,
                    const std::vector<int>& ranks) {
    std::string missing;
    const Collective* posted = nullptr;
    for (size_t member = 0; member < ranks.size(); ++member)
      if (flight.ready[member])
        posted = &flight.posted[member];
      else
        missing += fmt::format("{}rank {}", missing.empty() ? "" : ", ", ranks[member]);
    text += fmt::format("{}{} over {}, not started by {}", text.empty() ? "" : "; ",
                        brief(header_of(*posted, 0)), group_text(group.name, group.ranks), missing);
  });
  return text;
}

int64_t DeviceHub::progress() const {
  uint64_t state = 0;
  for (const NcclProgress& each : progress_)
    state = 31 * state + static_cast<uint64_t>(each.state());
  return static_cast<int64_t>(state);
}

std::string DeviceHub::in_flight() const {
  std::string text;
  for (const NcclProgress& each : progress_)
    if (const std::string title = each.unfinished(); !title.empty())
      text += (text.empty() ? "" : "; ") + title;
  return text;
}

void DeviceHub::add_waits(std::span<RankReport> reports) const {
  for_each_open(
      [&](const DeviceGroup& group, const DeviceFlight& flight, const std::vector<int>& ranks) {
        for (size_t waiting = 0; waiting < ranks.size(); ++waiting)
          for (size_t missing = 0; missing < ranks.size(); ++missing)
            if (flight.ready[waiting] && !flight.ready[missing])
              reports[static_cast<size_t>(ranks[waiting])].waits.push_back(
                  {.rank = ranks[missing],
                   .in = fmt::format("{} over {}", full(header_of(flight.posted[waiting], 0)),
                                     group.name)});
      });
  for (size_t stream = 0; stream < progress_.size(); ++stream) {
    const auto found = members_[stream].find(progress_[stream].unfinished_number());
    if (found == members_[stream].end()) continue;
    for (const int rank : found->second)
      reports[static_cast<size_t>(rank)].last.push_back(progress_[stream].unfinished() +
                                                        ": begun by the GPU, in flight");
  }
}

}  // namespace tessera
