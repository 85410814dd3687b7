// SPDX-License-Identifier: Apache-2.0
// How ranks communicate. A collective is started, which never waits for peers, and later
// waited for; all members of a group start the same collectives in the same order. Sums are taken
// in rank order (bf16 in fp32, rounded once), so every backend gives the same bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/dtype.h"
#include "core/reduction.h"

namespace tessera {

enum class CollectiveKind : uint8_t {
  Broadcast,
  Scatter,
  Gather,
  Reduce,
  AllGather,
  ReduceScatter,
  AllReduce,
  AllToAll,
  Send,
  Recv,
  Barrier,
  PutRows,
  TakeRows
};
inline constexpr int kNumCollectiveKinds = 13;
// Rows of experts: as many as there are at run time, within buffers of known size.
inline bool moves_rows(CollectiveKind kind) {
  return kind == CollectiveKind::PutRows || kind == CollectiveKind::TakeRows;
}

std::string_view name(CollectiveKind kind);  // "all_reduce"

// How a buffer is cut into one part per member, in elements: element (o, m, i) of part p lies at
// o * outer_stride + m * middle_stride + p * part_stride + i. So shards of an inner dim need no
// extra copy.
struct Parts {
  int64_t outer = 1, outer_stride = 0;
  int64_t middle = 1, middle_stride = 0;
  int64_t part_stride = 0;
  int64_t inner = 0;

  int64_t elements() const { return outer * middle * inner; }  // of one part
};

// One contiguous run of `elements` per part.
inline Parts contiguous_parts(int64_t elements) {
  return {.outer = 1,
          .outer_stride = elements,
          .middle = 1,
          .middle_stride = elements,
          .part_stride = elements,
          .inner = elements};
}

// Of put_rows and take_rows, the same on every member and read until the wait: each member has
// sorted rows of its own by expert, and has the pool of an equal share of the experts.
struct RowTable {
  const int32_t* ends = nullptr;  // [member, expert]: where the expert's end among those rows
  int64_t experts = 0;            // of all members
  int64_t rows = 0;               // of either side: its room
  int64_t most = 0;               // that one member can have for another; 0: `rows`

  // Where the expert's begin among those that a member sorted; of `experts`: where they end.
  constexpr int64_t begin(int member, int64_t expert) const {
    return expert > 0 ? ends[member * experts + expert - 1] : 0;
  }
};

// Where a side has a single part (AllGather's input, ReduceScatter's output, both of AllReduce,
// Broadcast, Send, ...), part 0 is it. Elements of one part are the same on every member and side.
// In place are allowed: AllReduce, Reduce and Broadcast with input == output; AllGather's and
// Gather's input as its own part of the output; ReduceScatter's and Scatter's output as its own
// part of the input.
struct Collective {
  CollectiveKind kind = CollectiveKind::Barrier;
  Reduction reduction = Reduction::Sum;
  DType dtype = DType::Fp32;
  const std::byte* input = nullptr;
  Parts input_parts{};
  std::byte* output = nullptr;
  Parts output_parts{};
  int root =
      0;  // of broadcast, scatter, gather, reduce; the peer of send and recv; both in the group
  RowTable table{};
  std::string_view name{};  // what it is for; appears in messages and traces
};

using Ticket = int64_t;

// One rank's end of one group of ranks. One thread at a time may start and one may wait; they need
// not be the same. Buffers belong to the communicator from start until wait returns.
class Communicator {
 public:
  virtual ~Communicator() = default;
  virtual int rank() const = 0;  // within the group
  virtual int size() const = 0;
  virtual const std::string& name() const = 0;

  virtual Ticket start(const Collective& collective) = 0;
  // Starts messages that must be in flight together, such as those of a ring; a ticket for each.
  virtual void start_together(std::span<const Collective> collectives, std::span<Ticket> tickets) {
    for (size_t i = 0; i < collectives.size(); ++i) tickets[i] = start(collectives[i]);
  }
  // Throws PeerError when a member died, is late, or runs another collective. Tickets may be waited
  // for in any order that is the same on all members.
  virtual void wait(Ticket ticket) = 0;
  // False: waiting would deadlock, because the calling thread has yet to start it for another
  // member.
  virtual bool may_wait(Ticket /*ticket*/) const { return true; }
  void run(const Collective& collective) { wait(start(collective)); }
};

// One rank's view of all ranks.
class RankWorld {
 public:
  virtual ~RankWorld() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  // The group of these ranks, this one among them, in the order of `ranks`. Every member makes its
  // groups in the same order. The world outlives its groups.
  virtual std::unique_ptr<Communicator> group(const std::vector<int>& ranks, std::string name) = 0;
  std::unique_ptr<Communicator> everyone(std::string name);
  virtual std::string machine() const;  // its name: the same for ranks that share one
  virtual std::string_view ranks_as() const { return "threads of one process"; }
  // Memory that peers can access without a copy: zeroed, freed with the world. Null: any memory can
  // be used.
  virtual std::byte* allocate(int64_t /*bytes*/) { return nullptr; }
  // For failure reports: the step that this rank is at.
  virtual void at_step(int64_t /*step*/) {}
};

}  // namespace tessera
