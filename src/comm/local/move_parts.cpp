// SPDX-License-Identifier: Apache-2.0
#include "comm/local/move_parts.h"

#include "comm/reduce_parts.h"
#include "comm/row_runs.h"

namespace tessera {
namespace {

Source input_of(const LocalOperation& op, int member, int part) {
  const Mailbox& mailbox = op.mailbox(member);
  if (op.inlined)
    return {mailbox.inline_input.data(), PartLayout(contiguous_parts(op.header.elements), part)};
  return {mailbox.input, PartLayout(mailbox.input_parts, part)};
}

Target output_of(const LocalOperation& op, int member, int part) {
  const Mailbox& mailbox = op.mailbox(member);
  return {mailbox.output, PartLayout(mailbox.output_parts, part)};
}

void copy_whole(const LocalOperation& op, const Source& from, const Target& to) {
  copy_part(from, to, size_bytes(op.header.dtype), 0, op.header.elements);
}

// Part `part` of every member's input, into all of `targets`.
void reduce_into_targets(const LocalOperation& op, int part, Share share, MoveScratch& scratch) {
  scratch.sources.clear();
  for (int member = 0; member < op.channel->size; ++member)
    scratch.sources.push_back(input_of(op, member, part));
  reduce_parts(op.header.dtype, op.header.reduction, scratch.sources, scratch.targets, share.begin,
               share.end);
}

void move_reduced(const LocalOperation& op, MoveScratch& scratch) {
  const int me = op.member, size = op.channel->size, root = op.header.root;
  const Share all{0, op.header.elements};
  const Share mine =
      op.inlined ? all : share_of(op.header.elements, size_bytes(op.header.dtype), me, size);
  scratch.targets.clear();
  switch (op.header.kind) {
    case CollectiveKind::ReduceScatter:
      scratch.targets.push_back(output_of(op, me, 0));
      return reduce_into_targets(op, me, all, scratch);
    case CollectiveKind::Reduce:
      if (op.inlined && me != root) return;
      scratch.targets.push_back(output_of(op, root, 0));
      return reduce_into_targets(op, 0, mine, scratch);
    default:
      for (int member = 0; member < size; ++member)
        if (!op.inlined || member == me) scratch.targets.push_back(output_of(op, member, 0));
      return reduce_into_targets(op, 0, mine, scratch);
  }
}

// Every member takes what is for it: into its pool, or for the rows that it sorted.
void move_rows(const LocalOperation& op) {
  const int me = op.member, size = op.channel->size;
  for (int i = 0; i < size; ++i) {
    const int member = (me + i) % size;
    moved_rows(op.header, op.table, size, member, me)
        .copy(input_of(op, member, 0).data, output_of(op, me, 0).data);
  }
}

}  // namespace

void move_parts(const LocalOperation& op, MoveScratch& scratch) {
  const int me = op.member, size = op.channel->size, root = op.header.root;
  switch (op.header.kind) {
    case CollectiveKind::Broadcast:
      return copy_whole(op, input_of(op, root, 0), output_of(op, me, 0));
    case CollectiveKind::Scatter:
      return copy_whole(op, input_of(op, root, me), output_of(op, me, 0));
    case CollectiveKind::Gather:
      if (!op.inlined) return copy_whole(op, input_of(op, me, 0), output_of(op, root, me));
      for (int member = 0; me == root && member < size; ++member)
        copy_whole(op, input_of(op, member, 0), output_of(op, root, member));
      return;
    case CollectiveKind::AllGather:
    case CollectiveKind::AllToAll:
      // Each begins at another member, so that they do not all read the same memory at once.
      for (int i = 0; i < size; ++i) {
        const int member = (me + i) % size;
        const int part = op.header.kind == CollectiveKind::AllToAll ? me : 0;
        copy_whole(op, input_of(op, member, part), output_of(op, me, member));
      }
      return;
    case CollectiveKind::Reduce:
    case CollectiveKind::ReduceScatter:
    case CollectiveKind::AllReduce:
      return move_reduced(op, scratch);
    case CollectiveKind::PutRows:
    case CollectiveKind::TakeRows:
      return move_rows(op);
    case CollectiveKind::Send:
    case CollectiveKind::Recv:
    case CollectiveKind::Barrier:
      return;
  }
}

void move_received(const LocalOperation& receive) {
  copy_whole(receive, input_of(receive, 1 - receive.member, 0),
             output_of(receive, receive.member, 0));
}

void move_inline(const LocalOperation& op, int parts) {
  Mailbox& mailbox = op.mailbox(op.member);
  for (int part = 0; part < parts; ++part)
    copy_whole(
        op, {mailbox.input, PartLayout(mailbox.input_parts, part)},
        {mailbox.inline_input.data(), PartLayout(contiguous_parts(op.header.elements), part)});
}

}  // namespace tessera
