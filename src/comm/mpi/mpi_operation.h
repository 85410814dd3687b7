// SPDX-License-Identifier: Apache-2.0
// One collective over MPI as a small machine of states, moved on by the communication thread alone:
// a first message to each peer with the header and, when small, the data; then one or two rounds of
// data. Only sends and receives of bytes are used, so sums are ours and keep rank order.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <string>
#include <vector>

#include "comm/collective_header.h"
#include "comm/communicator.h"
#include "comm/part_layout.h"
#include "comm/row_runs.h"

namespace tessera {

// Payloads up to this size travel with the header.
inline constexpr int64_t kMpiInlineBytes = 1024;
// Of each group that two ranks share: for its collectives, and for messages within pairs. One of
// each kind is for first messages, the others are for data.
inline constexpr int kMpiTagsPerKind = 2048;
inline constexpr int kMpiTagsPerGroup = 2 * kMpiTagsPerKind;

// What a communicator knows of its group; outlives its operations.
struct MpiGroup {
  std::string name;
  std::vector<int> ranks;
  std::vector<int> channels;  // per member: this is the how-manieth group of the pair
  int member = -1;
  int world_rank = 0, world_size = 1;
  int64_t largest_message_bytes = 0;
  mutable std::vector<CollectiveHeader> last_seen;  // per member; number -1 before the first

  int size() const { return static_cast<int>(ranks.size()); }
  // What the member last told of itself.
  std::string whereabouts(int peer) const;
};

class MpiOperation {
 public:
  MpiOperation(const MpiGroup& group) : group_(group) {}

  // By the rank's own thread, before the operation is handed over.
  void prepare(const Collective& collective, int64_t number);
  // By the communication thread: posts the first messages.
  void begin();
  // Returns true when something moved on. Throws PeerError when the peers run another collective.
  bool advance();
  bool done() const { return state_ == State::Done; }
  void cancel();

  // The lowest member whose message is missing, or else who has not taken one; -1: none.
  struct Missing {
    int member = -1;
    bool message = false;
  };
  Missing missing();
  bool waits_for_headers() const { return state_ == State::Headers; }
  // "rank 0/4: all_reduce #12 grad(w1) over tp={2,3}"
  std::string prefix() const;
  const MpiGroup& group() const { return group_; }
  const CollectiveHeader& header() const { return header_; }

 private:
  enum class State { Headers, Exchange, Spread, Done };
  bool in_pair() const;
  bool uses_root_only() const;  // only the root's output is written
  Source own_input(int part) const;
  Target own_output(int part) const;
  std::vector<int> peers() const;
  int first_tag(int member) const;
  int data_tag(int member) const;

  void pack_first(int member, std::byte* into) const;
  void check_headers() const;
  Source inlined_from(int member) const;
  void finish_inlined();
  void begin_exchange();
  void finish_exchange();
  void begin_rows();
  void finish_rows();
  MovedRows rows_from(int member) const;  // that come to this one
  void begin_spread();
  void finish_spread();
  void reduce_share();
  Share share(int member) const;

  void send_bytes(const std::byte* data, int64_t bytes, int member, int tag);
  void receive_bytes(std::byte* data, int64_t bytes, int member, int tag);
  // Sends or receives elements [begin, end) of a part, through a staging area unless they are one
  // run.
  void send_part(const Source& part, Share elements, int member);
  void receive_part(const Target& part, Share elements, int member);
  std::byte* stage(int64_t bytes);
  void unpack_received();

  const MpiGroup& group_;
  Collective collective_;
  CollectiveHeader header_;
  bool inlined_ = false;
  State state_ = State::Done;

  struct Unpack {
    const std::byte* from;
    Target to;
    Share elements;
  };
  std::vector<MPI_Request> requests_;
  std::vector<int> request_members_;
  std::vector<bool> request_receives_;
  std::vector<std::byte> first_out_, first_in_;  // a first message per member
  std::vector<std::vector<std::byte>> staging_;  // kept from use to use
  size_t staged_ = 0;
  std::vector<Unpack> unpacks_;
  std::vector<std::pair<int, const std::byte*>> rows_from_;  // per member, as they arrive
  std::vector<Source> sources_;                              // per member, of the exchange
};

}  // namespace tessera
