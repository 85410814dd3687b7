// SPDX-License-Identifier: Apache-2.0
#include "comm/local/local_world.h"

#include <unistd.h>

#include <algorithm>

#include "comm/local/local_communicator.h"
#include "comm/local/move_parts.h"
#include "comm/local/story.h"
#include "comm/peer_error.h"

namespace tessera {
namespace {

constexpr std::chrono::microseconds kSpin{100};
// Sleeps end early when the awaited word changes; between them a rank looks whether peers live.
constexpr double kShortestSleepSeconds = 0.001, kLongestSleepSeconds = 0.02;

}  // namespace

LocalWorld::LocalWorld(LocalHub& hub, int rank) : hub_(hub), rank_(rank), staging_(hub) {
  hub_.seat(rank_).process = getpid();
}

std::unique_ptr<Communicator> LocalWorld::group(const std::vector<int>& ranks, std::string name) {
  Channel& channel = hub_.channel(nullptr, ranks, occurrences_[ranks]++);
  return std::make_unique<LocalCommunicator>(*this, channel, std::move(name));
}

std::string_view LocalWorld::ranks_as() const {
  return hub_.options().processes ? "processes of one machine" : "threads of one process";
}

std::byte* LocalWorld::allocate(int64_t bytes) {
  return hub_.options().processes ? hub_.allocate(bytes) : nullptr;
}

void LocalWorld::at_step(int64_t step) {
  hub_.seat(rank_).steps.begin(step);
  step_thread_ = std::this_thread::get_id();
}

bool LocalWorld::is_ahead(int other_rank) const {
  return step_thread_.load() == std::this_thread::get_id() &&
         hub_.seat(other_rank).steps.begun > hub_.seat(rank_).steps.begun;
}

void LocalWorld::await(const InFlight& op, int other, Stage stage) {
  SharedWord& word = op.mailbox(other).word;
  const uint32_t target = word_at(op.header.number, stage);
  const auto there = [&] { return reached(word.value.load(std::memory_order_acquire), target); };
  if (there()) return;
  const Clock::time_point begin = Clock::now();
  while (hub_.spins() && Clock::now() - begin < kSpin)
    if (there()) return;
  record().wait_for(op.record, op.channel->ranks[other], &word.value, target);
  double sleep = kShortestSleepSeconds;
  while (true) {
    const uint32_t seen = word.value.load(std::memory_order_acquire);
    if (reached(seen, target)) return;
    check_peer(op, other, stage, begin);
    take_receives();
    word.sleep_while(seen, sleep);
    sleep = std::min(2 * sleep, kLongestSleepSeconds);
  }
}

void LocalWorld::await_sent(const InFlight& send) { await_pair(send, 1, Stage::Done); }

void LocalWorld::await_received(const InFlight& receive) {
  await_pair(receive, receive.member, Stage::Started);
}

void LocalWorld::await_pair(const InFlight& op, int member, Stage stage) {
  SharedWord& word = op.mailbox(member).word;
  SharedWord& bell = hub_.seat(rank_).bell;
  const uint32_t target = word_at(op.header.number, Stage::Done);
  const Clock::time_point begin = Clock::now();
  bool sleeps = false;
  while (true) {
    const uint32_t rung = bell.value.load(std::memory_order_acquire);
    take_receives();
    if (reached(word.value.load(std::memory_order_acquire), target)) return;
    if (hub_.spins() && Clock::now() - begin < kSpin) continue;
    if (!sleeps)
      record().wait_for(op.record, op.channel->ranks[1 - op.member],
                        &op.mailbox(1 - op.member).word.value, word_at(op.header.number, stage));
    sleeps = true;
    check_peer(op, 1 - op.member, stage, begin);
    bell.sleep_while(rung, kLongestSleepSeconds);
  }
}

void LocalWorld::check_peer(const InFlight& op, int other, Stage stage, Clock::time_point begin) {
  if (hub_.failed()) throw_stopped(op);
  const int guilty = op.channel->ranks[other];
  // Read before the word is looked at again: what it owes here was published before, or never.
  const bool ended = hub_.seat(guilty).life.load() == Seat::Ended;
  const bool ahead = stage == Stage::Started && is_ahead(guilty);
  if (reached(op.mailbox(other).word.value.load(), word_at(op.header.number, stage))) return;
  if (ended)
    fail(guilty,
         fmt::format("{}: rank {} has ended; {}", prefix(op), guilty, whereabouts(op, other)));
  if (ahead)
    fail(guilty, fmt::format("{}: {}", prefix(op),
                             left_out_text(guilty, hub_.seat(guilty).steps.step,
                                           hub_.seat(rank_).steps.step)));
  const double waited = std::chrono::duration<double>(Clock::now() - begin).count();
  if (waited > hub_.options().deadline_seconds) fail_late(op, other);
}

// Who does not answer may itself be waiting for another.
void LocalWorld::fail_late(const InFlight& op, int other) {
  const std::vector<RankStory> stories = stories_of(hub_);
  const int silent = op.channel->ranks[other], guilty = first_to_blame(stories, silent, rank_);
  std::string text = fmt::format("{}: no reply from rank {} for {:.3g} s; {}", prefix(op), silent,
                                 hub_.options().deadline_seconds, whereabouts(op, other));
  if (guilty != silent)
    text += fmt::format("; all of it hangs on rank {}, {}", guilty,
                        doing(stories[static_cast<size_t>(guilty)]));
  fail(guilty, text);
}

void LocalWorld::check_same(const InFlight& op, int other) {
  const CollectiveHeader& theirs = op.mailbox(other).header;
  if (op.header.same_as(theirs)) return;
  const int guilty = op.channel->ranks[other];
  fail(guilty, fmt::format("{}: this rank runs {}, but rank {} runs {}", prefix(op),
                           full(op.header), guilty, full(theirs)));
}

void LocalWorld::begin_touching(const InFlight& op) {
  hub_.seat(rank_).reading.fetch_add(1, std::memory_order_seq_cst);
  if (!hub_.failed()) return;
  end_touching();
  throw_stopped(op);
}

void LocalWorld::throw_stopped(const InFlight& op) {
  const Failure& first = hub_.failure();
  const int guilty = first.guilty_rank;
  const std::string text = fmt::format("{}: stopped because rank {} failed: {}", prefix(op), guilty,
                                       static_cast<const char*>(first.text));
  hub_.fail(rank_, guilty, Failure::Peer, text);
  throw PeerError(guilty, text);
}

void LocalWorld::fail(int guilty_rank, const std::string& text) {
  hub_.fail(rank_, guilty_rank, Failure::Peer, text);
  throw PeerError(guilty_rank, text);
}

std::string LocalWorld::prefix(const InFlight& op) const {
  const Channel* group = op.channel->parent ? op.channel->parent : op.channel;
  return fmt::format("rank {}/{}: {} over {}", rank_, size(), brief(op.header),
                     group_text(*op.group, group->members()));
}

std::string LocalWorld::whereabouts(const InFlight& op, int other) const {
  const int64_t last = op.channel->last_started[other].load();
  if (last < 0) return "it has started nothing in this group";
  return fmt::format("the last it started in this group is {}",
                     brief(op.channel->mailbox(other, last).header));
}

void LocalWorld::add_receive(const InFlight* receive) {
  const std::lock_guard lock(receives_mutex_);
  receives_.push_back(receive);
}

void LocalWorld::forget_receive(const InFlight* receive) {
  const std::lock_guard lock(receives_mutex_);
  receives_.erase(std::remove(receives_.begin(), receives_.end(), receive), receives_.end());
}

void LocalWorld::take_receives() {
  const std::lock_guard lock(receives_mutex_);
  receives_.erase(std::remove_if(receives_.begin(), receives_.end(),
                                 [this](const InFlight* receive) { return take(*receive); }),
                  receives_.end());
}

bool LocalWorld::take(const InFlight& receive) {
  const int sender = 1 - receive.member;
  const uint32_t started = word_at(receive.header.number, Stage::Started);
  if (!reached(receive.mailbox(sender).word.value.load(std::memory_order_acquire), started))
    return false;
  check_same(receive, sender);
  begin_touching(receive);
  move_received(receive);
  end_touching();
  // Once it is done, another thread of this rank may return from its wait and end the receive.
  SharedWord& senders_bell = hub_.seat(receive.channel->ranks[sender]).bell;
  receive.mailbox(receive.member).word.set(word_at(receive.header.number, Stage::Done));
  senders_bell.bump();
  return true;
}

}  // namespace tessera
