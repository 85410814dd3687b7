// SPDX-License-Identifier: Apache-2.0
// Rows of experts over MPI: one message to each member, of the rows that there are.
#include "comm/mpi/mpi_operation.h"

namespace tessera {

MovedRows MpiOperation::rows_from(int member) const {
  return moved_rows(header_, collective_.table, group_.size(), member, group_.member);
}

void MpiOperation::begin_rows() {
  rows_from_.clear();
  for (const int member : peers()) {
    const MovedRows in = rows_from(member), out = moved_rows(header_, collective_.table,
                                                             group_.size(), group_.member, member);
    std::byte* received = stage(in.bytes());
    rows_from_.emplace_back(member, received);
    receive_bytes(received, in.bytes(), member, data_tag(member));
    std::byte* packed = stage(out.bytes());
    out.pack(collective_.input, packed);
    send_bytes(packed, out.bytes(), member, data_tag(member));
  }
}

void MpiOperation::finish_rows() {
  for (const auto& [member, received] : rows_from_)
    rows_from(member).unpack(received, collective_.output);
  rows_from(group_.member).copy(collective_.input, collective_.output);
}

}  // namespace tessera
