// SPDX-License-Identifier: Apache-2.0
#include "comm/local/local_communicator.h"

#include <algorithm>

namespace tessera {
namespace {

bool in_pair(CollectiveKind kind) {
  return kind == CollectiveKind::Send || kind == CollectiveKind::Recv;
}

}  // namespace

LocalCommunicator::LocalCommunicator(LocalWorld& world, Channel& channel, std::string name)
    : world_(world), channel_(channel), name_(std::move(name)) {
  const auto members = channel.members();
  member_ =
      static_cast<int>(std::find(members.begin(), members.end(), world.rank()) - members.begin());
  TESSERA_CHECK(member_ < channel.size, "rank {} is not in {}", world.rank(),
                group_text(name_, members));
  in_flight_.resize(kSlots);
  scratch_.sources.reserve(members.size());
  scratch_.targets.reserve(members.size());
}

LocalCommunicator::~LocalCommunicator() {
  bool unwinding = false;
  for (size_t slot = 0; slot < in_flight_.size(); ++slot) {
    if (!active_[slot]) continue;
    unwinding = true;
    world_.forget_receive(&in_flight_[slot]);
  }
  if (unwinding) world_.hub().abandon(world_.rank());
}

Ticket LocalCommunicator::start(const Collective& collective) {
  check_collective(collective, member_, size());
  const Ticket ticket = next_ticket_++;
  const auto slot = static_cast<size_t>(ticket % kSlots);
  InFlight& op = in_flight_[slot];
  TESSERA_CHECK(!active_[slot], "{}: more than {} collectives in flight; wait for some of them",
                group_text(name_, channel_.members()), kSlots);
  op.group = &name_;
  active_[slot] = true;
  if (in_pair(collective.kind)) {
    start_in_pair(op, collective);
    return ticket;
  }
  op.channel = &channel_;
  op.member = member_;
  op.header = header_of(collective, started_++);
  op.inlined = input_bytes(op.header, size()) <= kInlineBytes;
  claim_slot(op);
  publish(op, collective);
  return ticket;
}

// A pair's channel has two members, the sender first.
void LocalCommunicator::start_in_pair(InFlight& op, const Collective& collective) {
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
  claim_slot(op);
  publish(op, collective);
  world_.hub().seat(op.channel->ranks[1 - op.member]).bell.bump();
  if (!sends) world_.add_receive(&op);
}

// Who has waited for the slot's last use knows that everybody started it; those that were inlined
// may still be read.
void LocalCommunicator::claim_slot(const InFlight& op) {
  if (op.header.number < kSlots) return;
  InFlight last = op;
  last.header = op.mailbox(op.member).header;
  for (int other = 0; other < op.channel->size; ++other)
    if (other != op.member) world_.await(last, other, Stage::Done);
}

void LocalCommunicator::publish(InFlight& op, Collective collective) {
  if (!op.inlined) op.staged = world_.staging().stage(collective, size());
  Mailbox& mailbox = op.mailbox(op.member);
  mailbox.header = op.header;
  mailbox.input = collective.input;
  mailbox.input_parts = collective.input_parts;
  mailbox.output = collective.output;
  mailbox.output_parts = collective.output_parts;
  const bool has_input = collective.input && collective.input_parts.elements() > 0;
  if (op.inlined && has_input) move_inline(op, reads_many_parts(collective.kind) ? size() : 1);
  op.record = world_.record().start(op.header, name_);
  op.channel->last_started[op.member].store(op.header.number, std::memory_order_release);
  mailbox.word.set(word_at(op.header.number, Stage::Started));
}

void LocalCommunicator::wait(Ticket ticket) {
  const auto slot = static_cast<size_t>(ticket % kSlots);
  const InFlight& op = in_flight_[slot];
  TESSERA_CHECK(active_[slot], "{}: ticket {} is not in flight", name_, ticket);
  switch (op.header.kind) {
    case CollectiveKind::Send:
      if (!op.inlined) world_.await_sent(op);
      op.mailbox(op.member).word.set(word_at(op.header.number, Stage::Done));
      break;
    case CollectiveKind::Recv:
      world_.await_received(op);
      break;
    default:
      wait_for_all(op);
  }
  if (!op.inlined) world_.staging().give_back(op.staged);
  world_.record().end(op.record);
  active_[slot] = false;
}

void LocalCommunicator::wait_for_all(const InFlight& op) {
  for (int other = 0; other < op.channel->size; ++other) {
    if (other == op.member) continue;
    world_.await(op, other, Stage::Started);
    world_.check_same(op, other);
  }
  world_.begin_touching(op);
  move_parts(op, scratch_);
  world_.end_touching();
  op.mailbox(op.member).word.set(word_at(op.header.number, Stage::Done));
  for (int other = 0; !op.inlined && other < op.channel->size; ++other)
    if (other != op.member) world_.await(op, other, Stage::Done);
}

}  // namespace tessera
