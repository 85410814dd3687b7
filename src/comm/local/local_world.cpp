// SPDX-License-Identifier: Apache-2.0
#include "comm/local/local_world.h"

#include <unistd.h>

#include <algorithm>

#include "comm/failure/peer_error.h"
#include "comm/local/local_report.h"
#include "comm/local/move_parts.h"

namespace tessera {
namespace {

constexpr std::chrono::microseconds kSpin{100};
// Sleeps end early when the awaited word changes; between them a rank looks whether peers live.
constexpr double kShortestSleepSeconds = 0.001, kLongestSleepSeconds = 0.02;

}  // namespace

LocalWorld::LocalWorld(LocalHub& hub, int rank) : hub_(hub), rank_(rank), staging_(hub) {
  hub_.seat(rank_).process = getpid();
}

std::unique_ptr<RankWorld> make_local_world(LocalHub& hub, int rank) {
  TESSERA_CHECK(rank >= 0 && rank < hub.options().ranks, "rank {} of {}", rank,
                hub.options().ranks);
  return std::make_unique<LocalWorld>(hub, rank);
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

void LocalWorld::await(const LocalOperation& op, int other, Stage stage) {
  if (op.has_reached(other, stage)) return;
  const Clock::time_point begin = Clock::now();
  while (hub_.spins() && Clock::now() - begin < kSpin)
    if (op.has_reached(other, stage)) return;
  double sleep = kShortestSleepSeconds;
  SharedWord* recorded = nullptr;
  while (true) {
    const auto [word, target] = op.awaited(other);
    const uint32_t seen = word->value.load(std::memory_order_acquire);
    if (op.has_reached(other, stage)) return;
    if (word != recorded)
      record().wait_for(op.record, op.channel->ranks[other], &word->value, target);
    recorded = word;
    check_peer(op, other, stage, begin);
    take_receives();
    word->sleep_while(seen, sleep);
    sleep = std::min(2 * sleep, kLongestSleepSeconds);
  }
}

void LocalWorld::await_sent(const LocalOperation& send) {
  await_pair(send, Stage::Done, [&] { return send.has_reached(1, Stage::Done); });
}

void LocalWorld::await_received(const LocalOperation& receive) {
  const uint32_t taken = word_at(receive.header.number, Stage::Done);
  await_pair(receive, Stage::Started, [&] {
    return reached(receive.own_mailbox->word.value.load(std::memory_order_acquire), taken);
  });
}

template <typename Done>
void LocalWorld::await_pair(const LocalOperation& op, Stage stage, const Done& done) {
  SharedWord& bell = hub_.seat(rank_).bell;
  const Clock::time_point begin = Clock::now();
  bool sleeps = false;
  while (true) {
    const uint32_t rung = bell.value.load(std::memory_order_acquire);
    take_receives();
    if (done()) return;
    if (hub_.spins() && Clock::now() - begin < kSpin) continue;
    const auto [word, target] = op.awaited(1 - op.member);
    if (!sleeps)
      record().wait_for(op.record, op.channel->ranks[1 - op.member], &word->value, target);
    sleeps = true;
    check_peer(op, 1 - op.member, stage, begin);
    bell.sleep_while(rung, kLongestSleepSeconds);
  }
}

void LocalWorld::check_peer(const LocalOperation& op, int other, Stage stage,
                            Clock::time_point begin) {
  if (hub_.failed()) throw_stopped(op);
  const int guilty = op.channel->ranks[other];
  // Read before the word is looked at again: what it owes here was published before, or never.
  const bool ended = hub_.seat(guilty).life.load() == Seat::Ended;
  const bool ahead = stage == Stage::Started && is_ahead(guilty);
  if (op.has_reached(other, stage)) return;
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
void LocalWorld::fail_late(const LocalOperation& op, int other) {
  const std::vector<RankReport> reports = report_ranks(hub_);
  const int silent = op.channel->ranks[other], guilty = first_to_blame(reports, silent, rank_);
  std::string text = fmt::format("{}: no reply from rank {} for {:.3g} s; {}", prefix(op), silent,
                                 hub_.options().deadline_seconds, whereabouts(op, other));
  if (guilty != silent)
    text += fmt::format("; all of it hangs on rank {}, {}", guilty,
                        doing(reports[static_cast<size_t>(guilty)]));
  fail(guilty, text);
}

void LocalWorld::check_same(const LocalOperation& op, int other) {
  const CollectiveHeader& theirs = op.mailbox(other).header;
  if (op.header.same_as(theirs)) return;
  const int guilty = op.channel->ranks[other];
  fail(guilty, fmt::format("{}: this rank runs {}, but rank {} runs {}", prefix(op),
                           full(op.header), guilty, full(theirs)));
}

void LocalWorld::begin_touching(const LocalOperation& op) {
  hub_.seat(rank_).reading.fetch_add(1, std::memory_order_seq_cst);
  if (!hub_.failed()) return;
  end_touching();
  throw_stopped(op);
}

void LocalWorld::throw_stopped(const LocalOperation& op) {
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

std::string LocalWorld::prefix(const LocalOperation& op) const {
  const Channel* group = op.channel->parent ? op.channel->parent : op.channel;
  return fmt::format("rank {}/{}: {} over {}", rank_, size(), brief(op.header),
                     group_text(*op.group, group->members()));
}

std::string LocalWorld::whereabouts(const LocalOperation& op, int other) const {
  const Mailbox* last = op.channel->progress[other].last.load(std::memory_order_acquire);
  if (!last) return "it has started nothing in this group";
  return fmt::format("the last it started in this group is {}", brief(last->header));
}

void LocalWorld::add_receive(const LocalOperation* receive) {
  const std::lock_guard lock(receives_mutex_);
  receives_.push_back(receive);
}

void LocalWorld::forget_receive(const LocalOperation* receive) {
  const std::lock_guard lock(receives_mutex_);
  receives_.erase(std::remove(receives_.begin(), receives_.end(), receive), receives_.end());
}

void LocalWorld::take_receives() {
  const std::lock_guard lock(receives_mutex_);
  receives_.erase(std::remove_if(receives_.begin(), receives_.end(),
                                 [this](const LocalOperation* receive) { return take(*receive); }),
                  receives_.end());
}

bool LocalWorld::take(const LocalOperation& receive) {
  const int sender = 1 - receive.member;
  if (!receive.has_reached(sender, Stage::Started)) return false;
  check_same(receive, sender);
  begin_touching(receive);
  move_received(receive);
  end_touching();
  // Once it is done, another thread of this rank may return from its wait and end the receive.
  SharedWord& senders_bell = hub_.seat(receive.channel->ranks[sender]).bell;
  receive.own_mailbox->word.set(word_at(receive.header.number, Stage::Done));
  senders_bell.bump();
  return true;
}

}  // namespace tessera
