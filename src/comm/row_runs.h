// SPDX-License-Identifier: Apache-2.0
// Which rows put_rows and take_rows copy. Members have sorted rows of their own by expert; a pool
// has those of its owner's experts, by expert and then in the order of members. So what one member
// has for one expert is a run of rows on both sides. GPUs find runs with the same functions.
#pragma once

#include <cstring>

#include "comm/collective_header.h"
#include "comm/communicator.h"

namespace tessera {

// The first row on each side, and among the rows that the one member has for the other; how many.
struct RowRun {
  int64_t sorted = 0, pool = 0, packed = 0, rows = 0;
};

// What a member sorted for one expert. What a pool has no room for is left out; that is the end of
// what the member has for the pool's owner.
constexpr RowRun row_run(const RowTable& table, int members, int sorter, int64_t expert) {
  const int64_t own = table.experts / members, first = expert / own * own;
  int64_t pool = 0;
  for (int member = 0; member < members; ++member)
    pool += table.begin(member, expert + (member < sorter ? 1 : 0)) - table.begin(member, first);
  const int64_t sorted = table.begin(sorter, expert),
                rows = table.begin(sorter, expert + 1) - sorted, room = table.rows - pool;
  return {.sorted = sorted,
          .pool = pool,
          .packed = sorted - table.begin(sorter, first),
          .rows = room < rows ? (room > 0 ? room : 0) : rows};
}

// The rows that one member has for another. With put_rows they come from what it sorted and go into
// a pool, with take_rows the other way.
struct MovedRows {
  RowTable table;
  CollectiveKind kind;
  int members, from, to;
  int64_t row_bytes;

  constexpr bool puts() const { return kind == CollectiveKind::PutRows; }
  constexpr int64_t num_runs() const { return table.experts / members; }  // one for each expert
  constexpr RowRun run(int64_t index) const {
    return row_run(table, members, puts() ? from : to, (puts() ? to : from) * num_runs() + index);
  }
  constexpr int64_t input_row(const RowRun& run) const { return puts() ? run.sorted : run.pool; }
  constexpr int64_t output_row(const RowRun& run) const { return puts() ? run.pool : run.sorted; }

  int64_t bytes() const {
    int64_t rows = 0;
    for_each_run([&](const RowRun& run) { rows += run.rows; });
    return rows * row_bytes;
  }
  void copy(const std::byte* input, std::byte* output) const {
    for_each_run(
        [&](const RowRun& run) { copy_run(run, input, input_row(run), output, output_row(run)); });
  }
  // To and from a buffer that holds these rows alone.
  void pack(const std::byte* input, std::byte* packed) const {
    for_each_run(
        [&](const RowRun& run) { copy_run(run, input, input_row(run), packed, run.packed); });
  }
  void unpack(const std::byte* packed, std::byte* output) const {
    for_each_run(
        [&](const RowRun& run) { copy_run(run, packed, run.packed, output, output_row(run)); });
  }

 private:
  template <typename Visit>
  void for_each_run(Visit&& visit) const {
    for (int64_t i = 0; i < num_runs(); ++i)
      if (const RowRun found = run(i); found.rows > 0) visit(found);
  }
  void copy_run(const RowRun& run, const std::byte* from_rows, int64_t from_row, std::byte* to_rows,
                int64_t to_row) const {
    std::memcpy(to_rows + to_row * row_bytes, from_rows + from_row * row_bytes,
                static_cast<size_t>(run.rows * row_bytes));
  }
};

inline MovedRows moved_rows(const CollectiveHeader& header, const RowTable& table, int members,
                            int from, int to) {
  return {.table = table,
          .kind = header.kind,
          .members = members,
          .from = from,
          .to = to,
          .row_bytes = header.elements / table.rows * size_bytes(header.dtype)};
}

}  // namespace tessera
