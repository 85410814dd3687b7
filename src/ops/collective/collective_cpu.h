// SPDX-License-Identifier: Apache-2.0
// How the CPU kernels of collective ops reach the other ranks, and how a dim cuts a tensor into
// parts.
#pragma once

#include <cstring>

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

// The same along the dim that the call's attribute `dim` names.
inline Parts parts_along_dim(const CpuCall& call, const TensorType& whole) {
  return parts_along(whole, static_cast<size_t>(whole.index_of(call.attributes.word("dim"))),
                     call.attributes.integer("ranks"));
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

inline bool is_alone(const CpuCall& call) { return call.attributes.integer("ranks") == 1; }

inline void copy_to_result(const CpuCall& call) {
  if (call.result(0).data != call.operand(0).data)
    std::memcpy(call.result(0).data, call.operand(0).data,
                static_cast<size_t>(call.result(0).type->bytes()));
}

inline Collective collective_of(const CpuCall& call, CollectiveKind kind) {
  return {.kind = kind,
          .reduction = Reduction::Sum,
          .dtype = call.operand(0).type->dtype,
          .input = call.operand(0).data,
          .input_parts = {},
          .output = call.result(0).data,
          .output_parts = {},
          .root = 0,
          .name = name(call.op)};
}

// Starts all of them and, unless the node says that a `wait` does it, waits for them.
inline void communicate(const CpuCall& call, Communicator& group,
                        std::initializer_list<Collective> collectives) {
  std::array<Ticket, InFlight::kTickets> tickets{};
  size_t count = 0;
  for (const Collective& collective : collectives) tickets[count++] = group.start(collective);
  if (call.attributes.integer("async") != 0)
    return call.in_flight->add(call.result(0).data, group, {tickets.data(), count});
  for (size_t i = 0; i < count; ++i) group.wait(tickets[i]);
}

// The two ranks between which the call sends; null: both ends are this rank.
inline Communicator* channel_of(const CpuCall& call) {
  TESSERA_CHECK(call.groups && call.channel >= 0, "{} outside a pipeline", name(call.op));
  return call.groups->channel(call.channel);
}

inline Communicator& group_of(const CpuCall& call) {
  TESSERA_CHECK(call.groups, "{} outside a mesh", name(call.op));
  return call.groups->at(call.attributes.word("axes"));
}

}  // namespace tessera
