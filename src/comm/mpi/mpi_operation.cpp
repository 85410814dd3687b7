// SPDX-License-Identifier: Apache-2.0
#include "comm/mpi/mpi_operation.h"

#include <algorithm>
#include <cstring>

#include "comm/failure/peer_error.h"
#include "comm/mpi/mpi_check.h"
#include "comm/reduce_parts.h"

namespace tessera {
namespace {

constexpr int64_t kFirstBytes = static_cast<int64_t>(sizeof(CollectiveHeader)) + kMpiInlineBytes;

// Elements [begin, ...) of a part, kept alone in a buffer of their own.
PartLayout from_element(int64_t begin, int64_t elements) {
  Parts parts = contiguous_parts(elements);
  parts.part_stride = -begin;
  return {parts, 1};
}

bool sends_a_part_each(CollectiveKind kind) {
  return kind == CollectiveKind::Scatter || kind == CollectiveKind::ReduceScatter ||
         kind == CollectiveKind::AllToAll;
}

}  // namespace

bool MpiOperation::in_pair() const {
  return header_.kind == CollectiveKind::Send || header_.kind == CollectiveKind::Recv;
}

bool MpiOperation::uses_root_only() const {
  return header_.kind == CollectiveKind::Gather || header_.kind == CollectiveKind::Reduce;
}

void MpiOperation::prepare(const Collective& collective, int64_t number) {
  collective_ = collective;
  header_ = header_of(collective, number);
  collective_.name = header_.text;
  inlined_ = header_.elements * size_bytes(header_.dtype) <= kMpiInlineBytes;
}

Source MpiOperation::own_input(int part) const {
  return {collective_.input, PartLayout(collective_.input_parts, part)};
}

Target MpiOperation::own_output(int part) const {
  return {collective_.output, PartLayout(collective_.output_parts, part)};
}

std::vector<int> MpiOperation::peers() const {
  if (in_pair()) return {collective_.root};
  std::vector<int> others;
  for (int i = 1; i < group_.size(); ++i) others.push_back((group_.member + i) % group_.size());
  return others;
}

// First messages are sent and received in the order of the collectives, so one tag is enough.
int MpiOperation::first_tag(int member) const {
  return group_.channels[static_cast<size_t>(member)] * kMpiTagsPerGroup +
         (in_pair() ? kMpiTagsPerKind : 0);
}

// Data may overtake that of other collectives, and a receiver may post what it expects in another
// order than it was sent, after the sender is done with it: so the tag is of the collective's
// number, and no two that a rank has in flight share one.
int MpiOperation::data_tag(int member) const {
  return first_tag(member) + 1 + static_cast<int>(header_.number % (kMpiTagsPerKind - 1));
}

Share MpiOperation::share(int member) const {
  return share_of(header_.elements, size_bytes(header_.dtype), member, group_.size());
}

void MpiOperation::begin() {
  requests_.clear();
  request_members_.clear();
  request_receives_.clear();
  unpacks_.clear();
  staged_ = 0;
  first_out_.resize(static_cast<size_t>(kFirstBytes * group_.size()));
  first_in_.resize(first_out_.size());
  state_ = State::Headers;
  const int64_t payload = inlined_ ? header_.elements * size_bytes(header_.dtype) : 0;
  for (const int member : peers()) {
    if (header_.kind != CollectiveKind::Send)
      receive_bytes(first_in_.data() + member * kFirstBytes, kFirstBytes, member,
                    first_tag(member));
    if (header_.kind == CollectiveKind::Recv) continue;
    std::byte* message = first_out_.data() + member * kFirstBytes;
    std::memcpy(message, &header_, sizeof(header_));
    if (payload > 0) pack_first(member, message + sizeof(header_));
    send_bytes(message, static_cast<int64_t>(sizeof(header_)) + payload, member, first_tag(member));
  }
}

void MpiOperation::pack_first(int member, std::byte* into) const {
  if (has_root(header_.kind) && (uses_root_only() ? member : group_.member) != collective_.root)
    return;
  copy_part(own_input(sends_a_part_each(header_.kind) ? member : 0),
            {into, from_element(0, header_.elements)}, size_bytes(header_.dtype), 0,
            header_.elements);
}

bool MpiOperation::advance() {
  int all = 0;
  mpi_check(
      MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &all, MPI_STATUSES_IGNORE),
      "MPI_Testall");
  if (!all) return false;
  requests_.clear();
  request_members_.clear();
  request_receives_.clear();
  switch (state_) {
    case State::Headers:
      check_headers();
      if (inlined_) {
        finish_inlined();
        state_ = State::Done;
      } else {
        begin_exchange();
        state_ = State::Exchange;
      }
      break;
    case State::Exchange:
      finish_exchange();
      state_ = State::Done;
      if (header_.kind == CollectiveKind::AllReduce || header_.kind == CollectiveKind::Reduce) {
        begin_spread();
        state_ = State::Spread;
      }
      break;
    case State::Spread:
      unpack_received();
      state_ = State::Done;
      break;
    case State::Done:
      break;
  }
  return true;
}

void MpiOperation::check_headers() const {
  if (header_.kind == CollectiveKind::Send) return;
  for (const int member : peers()) {
    CollectiveHeader theirs;
    std::memcpy(&theirs, first_in_.data() + member * kFirstBytes, sizeof(theirs));
    group_.last_seen[static_cast<size_t>(member)] = theirs;
    if (header_.same_as(theirs)) continue;
    const int guilty = group_.ranks[static_cast<size_t>(member)];
    throw PeerError(guilty, fmt::format("{}: this rank runs {}, but rank {} runs {}", prefix(),
                                        full(header_), guilty, full(theirs)));
  }
}

Source MpiOperation::inlined_from(int member) const {
  return {first_in_.data() + member * kFirstBytes + sizeof(header_),
          from_element(0, header_.elements)};
}

void MpiOperation::finish_inlined() {
  const int me = group_.member, root = collective_.root;
  const int64_t bytes = size_bytes(header_.dtype), count = header_.elements;
  const int own_part = sends_a_part_each(header_.kind) ? me : 0;
  const auto source = [&](int member) {
    return member == me ? own_input(own_part) : inlined_from(member);
  };
  if (uses_root_only() && me != root) return;
  switch (header_.kind) {
    case CollectiveKind::Send:
    case CollectiveKind::Barrier:
      return;
    case CollectiveKind::Recv:
    case CollectiveKind::Broadcast:
    case CollectiveKind::Scatter:
      return copy_part(source(root), own_output(0), bytes, 0, count);
    case CollectiveKind::Gather:
    case CollectiveKind::AllGather:
    case CollectiveKind::AllToAll:
      for (int member = 0; member < group_.size(); ++member)
        copy_part(source(member), own_output(member), bytes, 0, count);
      return;
    case CollectiveKind::PutRows:
    case CollectiveKind::TakeRows:
      for (int member = 0; member < group_.size(); ++member)
        rows_from(member).copy(source(member).data, collective_.output);
      return;
    case CollectiveKind::Reduce:
    case CollectiveKind::ReduceScatter:
    case CollectiveKind::AllReduce: {
      sources_.clear();
      for (int member = 0; member < group_.size(); ++member) sources_.push_back(source(member));
      const Target target = own_output(0);
      return reduce_parts(header_.dtype, header_.reduction, sources_, {&target, 1}, 0, count);
    }
  }
}

void MpiOperation::begin_exchange() {
  if (moves_rows(header_.kind)) return begin_rows();
  const int me = group_.member, root = collective_.root;
  const CollectiveKind kind = header_.kind;
  const Share all{0, header_.elements};
  const bool by_parts = sends_a_part_each(kind);
  const bool by_shares = kind == CollectiveKind::AllReduce || kind == CollectiveKind::Reduce;
  const bool from_root = kind == CollectiveKind::Broadcast || kind == CollectiveKind::Scatter;
  const bool to_root = kind == CollectiveKind::Gather;
  sources_.assign(static_cast<size_t>(group_.size()), Source{});
  sources_[static_cast<size_t>(me)] = own_input(by_parts ? me : 0);
  for (const int member : peers()) {
    const bool receives =
        kind != CollectiveKind::Send && (!from_root || member == root) && (!to_root || me == root);
    const bool sends =
        kind != CollectiveKind::Recv && (!from_root || me == root) && (!to_root || member == root);
    if (receives && reduces(kind)) {
      const Share mine = by_shares ? share(me) : all;
      const int64_t bytes = (mine.end - mine.begin) * size_bytes(header_.dtype);
      std::byte* staged = stage(bytes);
      sources_[static_cast<size_t>(member)] = {staged, from_element(mine.begin, header_.elements)};
      receive_bytes(staged, bytes, member, data_tag(member));
    } else if (receives) {
      const bool into_parts =
          to_root || kind == CollectiveKind::AllGather || kind == CollectiveKind::AllToAll;
      receive_part(own_output(into_parts ? member : 0), all, member);
    }
    if (sends) send_part(own_input(by_parts ? member : 0), by_shares ? share(member) : all, member);
  }
}

void MpiOperation::finish_exchange() {
  unpack_received();
  const int me = group_.member, root = collective_.root;
  const int64_t bytes = size_bytes(header_.dtype), count = header_.elements;
  switch (header_.kind) {
    case CollectiveKind::Broadcast:
      if (me == root) copy_part(own_input(0), own_output(0), bytes, 0, count);
      return;
    case CollectiveKind::Scatter:
      if (me == root) copy_part(own_input(me), own_output(0), bytes, 0, count);
      return;
    case CollectiveKind::Gather:
      if (me == root) copy_part(own_input(0), own_output(me), bytes, 0, count);
      return;
    case CollectiveKind::AllGather:
      return copy_part(own_input(0), own_output(me), bytes, 0, count);
    case CollectiveKind::AllToAll:
      return copy_part(own_input(me), own_output(me), bytes, 0, count);
    case CollectiveKind::ReduceScatter: {
      const Target target = own_output(0);
      return reduce_parts(header_.dtype, header_.reduction, sources_, {&target, 1}, 0, count);
    }
    case CollectiveKind::PutRows:
    case CollectiveKind::TakeRows:
      return finish_rows();
    default:
      return;
  }
}

// The reduced share goes to everybody, or to the root alone.
void MpiOperation::begin_spread() {
  const int me = group_.member, root = collective_.root;
  const Share mine = share(me);
  const bool has_output = header_.kind == CollectiveKind::AllReduce || me == root;
  Target target = own_output(0);
  if (!has_output)
    target = {stage((mine.end - mine.begin) * size_bytes(header_.dtype)),
              from_element(mine.begin, header_.elements)};
  reduce_parts(header_.dtype, header_.reduction, sources_, {&target, 1}, mine.begin, mine.end);
  for (const int member : peers()) {
    if (has_output) receive_part(own_output(0), share(member), member);
    if (header_.kind == CollectiveKind::AllReduce || member == root)
      send_part({target.data, target.layout}, mine, member);
  }
}

std::string MpiGroup::whereabouts(int peer) const {
  const CollectiveHeader& last = last_seen[static_cast<size_t>(peer)];
  if (last.number < 0) return "it has started nothing in this group";
  return fmt::format("the last it started in this group is {}", brief(last));
}

std::string MpiOperation::prefix() const {
  return fmt::format("rank {}/{}: {} over {}", group_.world_rank, group_.world_size, brief(header_),
                     group_text(group_.name, group_.ranks));
}

}  // namespace tessera
