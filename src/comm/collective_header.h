// SPDX-License-Identifier: Apache-2.0
// What all members of a group must agree on for one collective, and the words for it in messages.
// Plain bytes: it is compared across threads, processes and machines.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "comm/communicator.h"

namespace tessera {

struct CollectiveHeader {
  static constexpr size_t kNameBytes = 64;

  int64_t number = 0;    // counted per group, or per pair and direction for send and recv
  int64_t elements = 0;  // of one part
  int32_t root = 0;
  CollectiveKind kind = CollectiveKind::Barrier;
  Reduction reduction = Reduction::Sum;
  DType dtype = DType::Fp32;
  char text[kNameBytes] = {};  // the collective's name, cut to fit; not compared

  // A send and its receive are the same collective; roots of those are the two ends.
  bool same_as(const CollectiveHeader& other) const;
};

CollectiveHeader header_of(const Collective& collective, int64_t number);
bool has_root(CollectiveKind kind);
bool reduces(CollectiveKind kind);
// Whether the side has a part per member; else it has one.
bool reads_many_parts(CollectiveKind kind);
bool writes_many_parts(CollectiveKind kind);
// Throws InternalError when a side that this member uses has no buffer or another size.
void check_collective(const Collective& collective, int rank, int size);
// Bytes that the largest input side of any member holds: what would have to be copied aside.
int64_t input_bytes(const CollectiveHeader& header, int size);

// "all_reduce #12 grad(w1)"
std::string brief(const CollectiveHeader& header);
// "all_reduce #12 grad(w1) (1000 x fp32, sum)"
std::string full(const CollectiveHeader& header);
// "tp={2,3}"; long lists are cut.
std::string group_text(std::string_view name, std::span<const int> ranks);

}  // namespace tessera
