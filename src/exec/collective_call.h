// SPDX-License-Identifier: Apache-2.0
// What the kernels of collective ops do on every machine: each call is one or two collectives among
// its ranks, with parts where a dim cuts a tensor. Machines differ in how a rank copies to itself
// (copy_to_result) and in who waits (communicate).
#pragma once

#include "comm/communicator.h"
#include "exec/cpu/cpu_call.h"
#include "exec/in_flight.h"
#include "exec/rank_groups.h"

namespace tessera {

// Parts along `dim` of a tensor whose dim is cut into `ranks` pieces.
inline Parts parts_along(const TensorType& whole, size_t dim, int64_t ranks) {
  int64_t outer = 1, inner = 1;
  for (size_t i = 0; i < dim; ++i) outer *= whole.dims[i].size;
  for (size_t i = dim; i < whole.dims.size(); ++i) inner *= whole.dims[i].size;
  return {.outer = outer,
          .outer_stride = inner,
          .middle = 1,
          .middle_stride = 0,
          .part_stride = inner / ranks,
          .inner = inner / ranks};
}

// The same along the dim that the attribute `dim` names.
inline Parts parts_along_dim(const Attributes& attributes, const TensorType& whole) {
  return parts_along(whole, static_cast<size_t>(whole.index_of(attributes.word("dim"))),
                     attributes.integer("ranks"));
}

// Of one rank's share, read in the same order as parts_along reads a part.
inline Parts one_part_like(const Parts& parts) {
  return {.outer = parts.outer,
          .outer_stride = parts.middle * parts.inner,
          .middle = parts.middle,
          .middle_stride = parts.inner,
          .part_stride = 0,
          .inner = parts.inner};
}

// For messages: "%w1 of layer.3, microbatch 0" where the executor says so.
template <typename Call>
std::string_view title_of(const Call& call) {
  return call.in_flight && !call.in_flight->title.empty() ? call.in_flight->title : name(call.op);
}

// Both sides whole, until told otherwise.
template <typename Call>
Collective collective_of(const Call& call, CollectiveKind kind) {
  const Parts whole = contiguous_parts(call.operand(0).type->num_elements());
  return {.kind = kind,
          .reduction = Reduction::Sum,
          .dtype = call.operand(0).type->dtype,
          .input = call.operand(0).data,
          .input_parts = whole,
          .output = call.result(0).data,
          .output_parts = whole,
          .root = 0,
          .name = title_of(call)};
}

template <typename Call>
Collective gathered(const Call& call) {
  Collective collective = collective_of(call, CollectiveKind::AllGather);
  collective.output_parts = parts_along_dim(call.attributes, *call.result(0).type);
  collective.input_parts = one_part_like(collective.output_parts);
  return collective;
}

template <typename Call>
Collective scattered_sum(const Call& call) {
  Collective collective = collective_of(call, CollectiveKind::ReduceScatter);
  collective.input_parts = parts_along_dim(call.attributes, *call.operand(0).type);
  collective.output_parts = one_part_like(collective.input_parts);
  return collective;
}

template <typename Call>
Collective reduced(const Call& call) {
  Collective collective = collective_of(call, CollectiveKind::AllReduce);
  if (call.attributes.word("reduction") == "max") collective.reduction = Reduction::Max;
  return collective;
}

// No staging: parts are read where they lie and written where they belong.
template <typename Call>
Collective exchanged(const Call& call) {
  const TensorType &x = *call.operand(0).type, &y = *call.result(0).type;
  const auto split = static_cast<size_t>(x.index_of(call.attributes.word("split")));
  const auto join = static_cast<size_t>(x.index_of(call.attributes.word("join")));
  // Cut at the outer of the two dims; between them lies `middle`, which is cut on one side alone.
  const size_t outer_dim = std::min(split, join), inner_dim = std::max(split, join);
  const auto parts = [&](const TensorType& type, size_t cut) {
    Parts p = parts_along(type, cut, call.attributes.integer("ranks"));
    if (cut == outer_dim) {
      // A part is `middle` rows of `inner` elements, in one piece.
      int64_t inner = 1;
      for (size_t i = inner_dim; i < type.dims.size(); ++i) inner *= type.dims[i].size;
      p.middle = p.inner / inner;
      p.middle_stride = inner;
      p.inner = inner;
    } else {
      int64_t middle = 1;
      for (size_t i = outer_dim; i < inner_dim; ++i) middle *= type.dims[i].size;
      p.middle = middle;
      p.middle_stride = p.outer_stride;
      p.outer /= middle;
      p.outer_stride *= middle;
    }
    return p;
  };
  Collective collective = collective_of(call, CollectiveKind::AllToAll);
  collective.input_parts = parts(x, split);
  collective.output_parts = parts(y, join);
  return collective;
}

template <typename Call>
Collective sent(const Call& call, int to) {
  Collective send = collective_of(call, CollectiveKind::Send);
  send.output = nullptr;
  send.root = to;
  return send;
}

template <typename Call>
Collective received(const Call& call, int from) {
  Collective receive = collective_of(call, CollectiveKind::Recv);
  receive.input = nullptr;
  receive.root = from;
  return receive;
}

template <typename Call>
bool is_alone(const Call& call) {
  return call.attributes.integer("ranks") == 1;
}

template <typename Call>
Communicator& group_of(const Call& call) {
  TESSERA_CHECK(call.groups, "{} outside a mesh", name(call.op));
  return call.groups->at(call.attributes.word("axes"));
}

// The two ranks between which the call sends; null: both ends are this rank.
template <typename Call>
Communicator* channel_of(const Call& call) {
  TESSERA_CHECK(call.groups && call.channel >= 0, "{} outside a pipeline", name(call.op));
  return call.groups->channel(call.channel);
}

// One collective of the call's group; among one rank, a copy.
template <typename Call>
void run_collective(const Call& call, Collective (*describe)(const Call&)) {
  if (is_alone(call)) return copy_to_result(call);
  communicate(call, group_of(call), {describe(call)});
}

// A receive and a send in flight together.
template <typename Call>
void run_shift(const Call& call) {
  if (is_alone(call)) return copy_to_result(call);
  Communicator& group = group_of(call);
  communicate(call, group,
              {received(call, (group.rank() + group.size() - 1) % group.size()),
               sent(call, (group.rank() + 1) % group.size())});
}

// To this rank itself nothing travels: where the message lies is noted.
template <typename Call>
void run_send(const Call& call) {
  if (is_alone(call)) return copy_to_result(call);
  if (Communicator* channel = channel_of(call))
    communicate(call, *channel, {sent(call, 1 - channel->rank())});
  else
    call.in_flight->leave(call.channel, call.operand(0).data);
}

// From this rank itself the message lies where it was left.
template <typename Call>
void run_recv(const Call& call) {
  if (is_alone(call)) return copy_to_result(call);
  if (Communicator* channel = channel_of(call))
    communicate(call, *channel, {received(call, 1 - channel->rank())});
  else
    copy_to_result(call, call.in_flight->collect(call.channel));
}

}  // namespace tessera
