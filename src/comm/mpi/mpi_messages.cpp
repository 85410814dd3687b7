// SPDX-License-Identifier: Apache-2.0
// The messages of an operation: cut to what MPI can count, staged where a part is not one run.
#include <algorithm>

#include "comm/mpi/mpi_check.h"
#include "comm/mpi/mpi_operation.h"

namespace tessera {
namespace {

bool is_one_run(const PartLayout& layout, Share elements) {
  return elements.begin == elements.end ||
         layout.run_at(elements.begin).count >= elements.end - elements.begin;
}

}  // namespace

void MpiOperation::send_bytes(const std::byte* data, int64_t bytes, int member, int tag) {
  const int rank = group_.ranks[static_cast<size_t>(member)];
  do {
    const int64_t now = std::min(bytes, group_.largest_message_bytes);
    requests_.push_back(MPI_REQUEST_NULL);
    request_members_.push_back(member);
    request_receives_.push_back(false);
    mpi_check(MPI_Isend(data, static_cast<int>(now), MPI_BYTE, rank, tag, MPI_COMM_WORLD,
                        &requests_.back()),
              "MPI_Isend");
    data += now;
    bytes -= now;
  } while (bytes > 0);
}

void MpiOperation::receive_bytes(std::byte* data, int64_t bytes, int member, int tag) {
  const int rank = group_.ranks[static_cast<size_t>(member)];
  do {
    const int64_t now = std::min(bytes, group_.largest_message_bytes);
    requests_.push_back(MPI_REQUEST_NULL);
    request_members_.push_back(member);
    request_receives_.push_back(true);
    mpi_check(MPI_Irecv(data, static_cast<int>(now), MPI_BYTE, rank, tag, MPI_COMM_WORLD,
                        &requests_.back()),
              "MPI_Irecv");
    data += now;
    bytes -= now;
  } while (bytes > 0);
}

void MpiOperation::send_part(const Source& part, Share elements, int member) {
  const int64_t bytes = size_bytes(header_.dtype);
  const int64_t count = elements.end - elements.begin;
  if (is_one_run(part.layout, elements)) {
    const int64_t offset = count == 0 ? 0 : part.layout.run_at(elements.begin).offset;
    return send_bytes(part.data + offset * bytes, count * bytes, member, data_tag(member));
  }
  std::byte* staged = stage(count * bytes);
  Parts parts = contiguous_parts(header_.elements);
  parts.part_stride = -elements.begin;
  copy_part(part, {staged, PartLayout(parts, 1)}, bytes, elements.begin, elements.end);
  send_bytes(staged, count * bytes, member, data_tag(member));
}

void MpiOperation::receive_part(const Target& part, Share elements, int member) {
  const int64_t bytes = size_bytes(header_.dtype);
  const int64_t count = elements.end - elements.begin;
  if (is_one_run(part.layout, elements)) {
    const int64_t offset = count == 0 ? 0 : part.layout.run_at(elements.begin).offset;
    return receive_bytes(part.data + offset * bytes, count * bytes, member, data_tag(member));
  }
  std::byte* staged = stage(count * bytes);
  unpacks_.push_back({staged, part, elements});
  receive_bytes(staged, count * bytes, member, data_tag(member));
}

void MpiOperation::unpack_received() {
  for (const Unpack& unpack : unpacks_) {
    Parts parts = contiguous_parts(header_.elements);
    parts.part_stride = -unpack.elements.begin;
    copy_part({unpack.from, PartLayout(parts, 1)}, unpack.to, size_bytes(header_.dtype),
              unpack.elements.begin, unpack.elements.end);
  }
  unpacks_.clear();
}

std::byte* MpiOperation::stage(int64_t bytes) {
  if (staged_ == staging_.size()) staging_.emplace_back();
  std::vector<std::byte>& buffer = staging_[staged_++];
  if (static_cast<int64_t>(buffer.size()) < bytes) buffer.resize(static_cast<size_t>(bytes));
  return buffer.data();
}

MpiOperation::Missing MpiOperation::missing() {
  Missing missing;
  for (size_t i = 0; i < requests_.size(); ++i) {
    int complete = 0;
    mpi_check(MPI_Test(&requests_[i], &complete, MPI_STATUS_IGNORE), "MPI_Test");
    if (complete) continue;
    const bool better =
        missing.member < 0 || (request_receives_[i] && !missing.message) ||
        (request_receives_[i] == missing.message && request_members_[i] < missing.member);
    if (better) missing = {request_members_[i], request_receives_[i]};
  }
  return missing;
}

// What cannot be cancelled stays in buffers that this operation keeps.
void MpiOperation::cancel() {
  for (size_t i = 0; i < requests_.size(); ++i)
    if (requests_[i] != MPI_REQUEST_NULL && request_receives_[i]) {
      MPI_Cancel(&requests_[i]);
      MPI_Request_free(&requests_[i]);
    }
  state_ = State::Done;
}

}  // namespace tessera
