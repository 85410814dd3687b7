// SPDX-License-Identifier: Apache-2.0
// Rows of experts over MPI: one message to each member, of the rows that there are, packed where
// they are not one run.
#include "comm/mpi/mpi_operation.h"

namespace tessera {

// With put_rows the input is what this member sorted, with take_rows its pool.
RowSide MpiOperation::row_side(int member, bool of_input) const {
  const bool puts = header_.kind == CollectiveKind::PutRows;
  const bool sorts = puts == of_input;  // this member, of these rows
  return {.table = collective_.table,
          .members = group_.size(),
          .sorter = sorts ? group_.member : member,
          .owner = sorts ? member : group_.member,
          .in_pool = !sorts,
          .row_bytes = header_.elements / collective_.table.rows * size_bytes(header_.dtype)};
}

void MpiOperation::begin_rows() {
  rows_from_.clear();
  const auto bytes = [](const RowSide& side) {
    return rows_between(side.table, side.members, side.sorter, side.owner) * side.row_bytes;
  };
  for (const int member : peers()) {
    const RowSide from = row_side(member, false), to = row_side(member, true);
    std::byte* received = stage(bytes(from));
    rows_from_.emplace_back(member, received);
    receive_bytes(received, bytes(from), member, data_tag(member));
    std::byte* packed = stage(bytes(to));
    to.pack(collective_.input, packed);
    send_bytes(packed, bytes(to), member, data_tag(member));
  }
}

void MpiOperation::finish_rows() {
  for (const auto& [member, received] : rows_from_)
    row_side(member, false).unpack(received, collective_.output);
  copy_rows_from(group_.member, collective_.input);
}

// From a member's whole input.
void MpiOperation::copy_rows_from(int member, const std::byte* input) {
  const RowSide side = row_side(member, false);
  copy_rows(side.table, header_.kind, side.members, side.sorter, side.owner, side.row_bytes, input,
            collective_.output);
}

}  // namespace tessera
