// SPDX-License-Identifier: Apache-2.0
#include "comm/nccl/nccl_parts.h"

#include "comm/nccl/nccl_failure.h"

namespace tessera {
namespace {

using Kind = CollectiveKind;

// Calls copy(offset in the tensor, pitch of its rows, offset when packed, rows, width), in bytes.
template <typename Copy>
void for_each_stretch(const Parts& parts, int64_t count, int64_t element_bytes, Copy&& copy) {
  const bool flat = parts.middle == 1;  // then the outer dim gives the rows
  const int64_t rows = flat ? parts.outer : parts.middle;
  const int64_t pitch = flat ? parts.outer_stride : parts.middle_stride;
  const int64_t blocks = flat ? 1 : parts.outer;
  for (int64_t part = 0; part < count; ++part)
    for (int64_t block = 0; block < blocks; ++block)
      copy((block * parts.outer_stride + part * parts.part_stride) * element_bytes,
           static_cast<size_t>(pitch * element_bytes),
           (part * parts.elements() + block * rows * parts.inner) * element_bytes,
           static_cast<size_t>(rows), static_cast<size_t>(parts.inner * element_bytes));
}

void copy_rows(std::byte* to, size_t to_pitch, const std::byte* from, size_t from_pitch,
               size_t rows, size_t width, cudaStream_t stream) {
  if (rows == 1) to_pitch = from_pitch = width;
  check_runtime(cudaMemcpy2DAsync(to, to_pitch, from, from_pitch, width, rows,
                                  cudaMemcpyDeviceToDevice, stream),
                "copy a part");
}

}  // namespace

int64_t parts_read(const Collective& collective, int members) {
  switch (collective.kind) {
    case Kind::ReduceScatter:
    case Kind::AllToAll:
      return members;
    case Kind::Recv:
      return 0;
    default:
      return collective.input ? 1 : 0;
  }
}

int64_t parts_written(const Collective& collective, int members) {
  switch (collective.kind) {
    case Kind::AllGather:
    case Kind::AllToAll:
      return members;
    case Kind::Send:
      return 0;
    default:
      return collective.output ? 1 : 0;
  }
}

bool are_dense(const Parts& parts, int64_t count) {
  return (parts.middle == 1 || parts.middle_stride == parts.inner) &&
         (parts.outer == 1 || parts.outer_stride == parts.middle * parts.inner) &&
         (count <= 1 || parts.part_stride == parts.elements());
}

void pack_parts(const std::byte* tensor, const Parts& parts, int64_t count, int64_t element_bytes,
                std::byte* packed, cudaStream_t stream) {
  for_each_stretch(parts, count, element_bytes,
                   [&](int64_t there, size_t pitch, int64_t here, size_t rows, size_t width) {
                     copy_rows(packed + here, width, tensor + there, pitch, rows, width, stream);
                   });
}

void unpack_parts(const std::byte* packed, std::byte* tensor, const Parts& parts, int64_t count,
                  int64_t element_bytes, cudaStream_t stream) {
  for_each_stretch(parts, count, element_bytes,
                   [&](int64_t there, size_t pitch, int64_t here, size_t rows, size_t width) {
                     copy_rows(tensor + there, pitch, packed + here, width, rows, width, stream);
                   });
}

}  // namespace tessera
