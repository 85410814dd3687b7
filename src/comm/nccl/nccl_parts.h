// SPDX-License-Identifier: Apache-2.0
// NCCL moves contiguous parts; these are the copies that pack and unpack strided ones.
#pragma once

#include <cuda_runtime_api.h>

#include "comm/communicator.h"

namespace tessera {

// How many parts a member reads, or writes; 0: it has no such side.
int64_t parts_read(const Collective& collective, int members);
int64_t parts_written(const Collective& collective, int members);

// Whether `count` parts are contiguous.
bool are_dense(const Parts& parts, int64_t count);

// Copies between `count` parts of a tensor and the same parts packed.
void pack_parts(const std::byte* tensor, const Parts& parts, int64_t count, int64_t element_bytes,
                std::byte* packed, cudaStream_t stream);
void unpack_parts(const std::byte* packed, std::byte* tensor, const Parts& parts, int64_t count,
                  int64_t element_bytes, cudaStream_t stream);

}  // namespace tessera
