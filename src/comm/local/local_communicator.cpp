// SPDX-License-Identifier: Apache-2.0
#include "comm/local/local_communicator.h"

#include <algorithm>
#include <memory>

namespace tessera {
namespace {

bool in_pair(CollectiveKind kind) {
  return kind == CollectiveKind::Send || kind == CollectiveKind::Recv;
}

}  // namespace

std::unique_ptr<Communicator> LocalWorld::group(const std::vector<int>& ranks, std::string name) {
  Channel& channel = hub_.channel(nullptr, ranks, occurrences_[ranks]++);
  return std::make_unique<LocalCommunicator>(*this, channel, std::move(name));
}

LocalCommunicator::LocalCommunicator(LocalWorld& world, Channel& channel, std::string name)
    : world_(world), channel_(channel), name_(std::move(name)) {
  const auto members = channel.members();
  member_ =
      static_cast<int>(std::find(members.begin(), members.end(), world.rank()) - members.begin());
  TESSERA_CHECK(member_ < channel.size, "rank {} is not in {}", world.rank(),
                group_text(name_, members));
  scratch_.sources.reserve(members.size());
  scratch_.targets.reserve(members.size());
}

LocalCommunicator::~LocalCommunicator() {
  if (!in_flight_.has_any_in_flight()) return;
  in_flight_.for_each_in_flight(
      [this](const LocalOperation& each) { world_.forget_receive(&each); });
  world_.hub().abandon(world_.rank());
}

Ticket LocalCommunicator::start(const Collective& collective) {
  check_collective(collective, member_, size());
  const Ticket ticket = in_flight_.take([] { return std::make_unique<LocalOperation>(); });
  LocalOperation& op = *in_flight_.find(ticket);
  op.group = &name_;
  if (in_pair(collective.kind)) {
    start_in_pair(op, collective);
    return ticket;
  }
  op.channel = &channel_;
  op.member = member_;
  op.header = header_of(collective, started_++);
  op.inlined = input_bytes(op.header, size()) <= kInlineBytes;
  publish(op, collective);
  return ticket;
}

// A pair's channel has two members, the sender first.
void LocalCommunicator::start_in_pair(LocalOperation& op, const Collective& collective) {
  const bool sends = collective.kind == CollectiveKind::Send;
  const int from = sends ? member_ : collective.root, to = sends ? collective.root : member_;
  TESSERA_CHECK(from != to, "{} {} of {} to itself", tessera::name(collective.kind),
                collective.name, name_);
  Pair& pair = pairs_[{from, to}];
  if (!pair.channel)
    pair.channel = &world_.hub().channel(&channel_, {channel_.ranks[from], channel_.ranks[to]}, 0);
  op.channel = pair.channel;
  op.member = sends ? 0 : 1;
  op.header = header_of(collective, pair.started++);
  op.inlined = input_bytes(op.header, 2) <= kInlineBytes;
  publish(op, collective);
  world_.hub().seat(op.channel->ranks[1 - op.member]).bell.bump();
  if (!sends) world_.add_receive(&op);
}

// One that this rank is done with, once its peers are, which may still read what was inlined: so a
// rank cannot run far ahead of them. Else all of the chain are in flight, and one more is made.
Mailbox& LocalCommunicator::claim_mailbox(const LocalOperation& op) {
  Mailbox* each = &op.channel->first_of_chain(op.member, op.header.number);
  while (stage_of(each->word.value.load(std::memory_order_acquire)) == Stage::Started) {
    if (!each->next.load(std::memory_order_relaxed)) {
      Mailbox& made = world_.hub().another_mailbox();
      made.word.value = word_at(op.header.number, Stage::Free);
      each->next.store(&made, std::memory_order_release);
      return made;
    }
    each = each->next.load(std::memory_order_relaxed);
  }
  if (stage_of(each->word.value.load(std::memory_order_acquire)) == Stage::Free) return *each;
  LocalOperation last = op;
  last.header = each->header;
  for (int other = 0; other < op.channel->size; ++other)
    if (other != op.member) world_.await(last, other, Stage::Done);
  return *each;
}

void LocalCommunicator::publish(LocalOperation& op, Collective collective) {
  if (!op.inlined) op.staged = world_.staging().stage(collective, size());
  op.table = collective.table;
  op.record = world_.record().start(op.header, name_);
  Mailbox& mailbox = claim_mailbox(op);
  op.own_mailbox = &mailbox;
  mailbox.header = op.header;
  mailbox.input = collective.input;
  mailbox.input_parts = collective.input_parts;
  mailbox.output = collective.output;
  mailbox.output_parts = collective.output_parts;
  const bool has_input = collective.input && collective.input_parts.elements() > 0;
  if (op.inlined && has_input) move_inline(op, reads_many_parts(collective.kind) ? size() : 1);
  mailbox.word.set(word_at(op.header.number, Stage::Started));
  MemberProgress& progress = op.channel->progress[op.member];
  progress.last.store(&mailbox, std::memory_order_release);
  progress.started.set(static_cast<uint32_t>(op.header.number) + 1);
}

void LocalCommunicator::wait(Ticket ticket) {
  const LocalOperation* found = in_flight_.find(ticket);
  TESSERA_CHECK(found, "{}: ticket {} is not in flight", name_, ticket);
  const LocalOperation& op = *found;
  switch (op.header.kind) {
    case CollectiveKind::Send:
      if (!op.inlined) world_.await_sent(op);
      op.own_mailbox->word.set(word_at(op.header.number, Stage::Done));
      break;
    case CollectiveKind::Recv:
      world_.await_received(op);
      break;
    default:
      wait_for_all(op);
  }
  if (!op.inlined) world_.staging().give_back(op.staged);
  world_.record().end(op.record);
  in_flight_.give_back(ticket);
}

void LocalCommunicator::wait_for_all(const LocalOperation& op) {
  for (int other = 0; other < op.channel->size; ++other) {
    if (other == op.member) continue;
    world_.await(op, other, Stage::Started);
    world_.check_same(op, other);
  }
  world_.begin_touching(op);
  move_parts(op, scratch_);
  world_.end_touching();
  op.own_mailbox->word.set(word_at(op.header.number, Stage::Done));
  for (int other = 0; !op.inlined && other < op.channel->size; ++other)
    if (other != op.member) world_.await(op, other, Stage::Done);
}

}  // namespace tessera
