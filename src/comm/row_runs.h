// SPDX-License-Identifier: Apache-2.0
// Which rows put_rows and take_rows copy. Members have sorted rows of their own by expert; a pool
// has those of its owner's experts, by expert and then in the order of members. So what one member
// has for one expert is a run of rows on both sides.
#pragma once

#include <algorithm>
#include <cstring>

#include "comm/communicator.h"

namespace tessera {

struct RowRun {
  int64_t sorted, pool, rows;  // the first row on each side, and how many
};

// Calls visit(RowRun) for what `sorter` has for the experts of `owner`, in the order of experts.
template <typename Visit>
void for_each_run(const RowTable& table, int members, int sorter, int owner, Visit&& visit) {
  const int64_t own = table.experts / members, first = owner * own;
  int64_t next = 0;
  for (int64_t expert = first; expert < first + own; ++expert)
    for (int member = 0; member < members; ++member) {
      const int32_t* ends = table.ends + member * table.experts;
      const int64_t begin = expert > 0 ? ends[expert - 1] : 0;
      const int64_t rows = ends[expert] - begin;
      // What a pool has no room for is left out.
      const int64_t kept = std::clamp<int64_t>(table.rows - next, 0, rows);
      if (member == sorter && kept > 0) visit(RowRun{begin, next, kept});
      next += rows;
    }
}

inline int64_t rows_between(const RowTable& table, int members, int sorter, int owner) {
  int64_t all = 0;
  for_each_run(table, members, sorter, owner, [&](const RowRun& run) { all += run.rows; });
  return all;
}

// One member's side of the rows between two.
struct RowSide {
  const RowTable& table;
  int members, sorter, owner;
  bool in_pool;  // else among those that the sorter sorted
  int64_t row_bytes;

  int64_t row(const RowRun& run) const { return in_pool ? run.pool : run.sorted; }
  // To and from a buffer that holds these rows alone.
  void pack(const std::byte* from, std::byte* packed) const {
    for_each_run(table, members, sorter, owner, [&](const RowRun& run) {
      const auto bytes = static_cast<size_t>(run.rows * row_bytes);
      std::memcpy(packed, from + row(run) * row_bytes, bytes);
      packed += bytes;
    });
  }
  void unpack(const std::byte* packed, std::byte* to) const {
    for_each_run(table, members, sorter, owner, [&](const RowRun& run) {
      const auto bytes = static_cast<size_t>(run.rows * row_bytes);
      std::memcpy(to + row(run) * row_bytes, packed, bytes);
      packed += bytes;
    });
  }
};

// Between buffers that can both be reached.
inline void copy_rows(const RowTable& table, CollectiveKind kind, int members, int sorter,
                      int owner, int64_t row_bytes, const std::byte* from, std::byte* to) {
  const bool puts = kind == CollectiveKind::PutRows;
  for_each_run(table, members, sorter, owner, [&](const RowRun& run) {
    std::memcpy(to + (puts ? run.pool : run.sorted) * row_bytes,
                from + (puts ? run.sorted : run.pool) * row_bytes,
                static_cast<size_t>(run.rows * row_bytes));
  });
}

}  // namespace tessera
