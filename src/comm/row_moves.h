// SPDX-License-Identifier: Apache-2.0
// put_rows and take_rows on GPUs. How many rows there are is read on the device, from the table of
// ends, when the kernels run: they are launched in the same way whatever it says, so that a step
// with them can be recorded. Every row has one writer. Callers look after CUDA's last error.
#pragma once

#include <span>

#include "comm/row_runs.h"

struct CUstream_st;  // cudaStream_t is a pointer to it

namespace tessera {

inline constexpr int kMostRowMembers = 64;  // the limit of a kernel's arguments

// Between members whose buffers one kernel can reach; `posted` is what each of them started.
void enqueue_row_moves(std::span<const Collective> posted, CUstream_st* stream);

// Between a buffer and room for `most` rows that holds those from one member to another alone.
void enqueue_row_packing(const MovedRows& rows, const std::byte* input, std::byte* packed,
                         int64_t most, CUstream_st* stream);
void enqueue_row_unpacking(const MovedRows& rows, const std::byte* packed, std::byte* output,
                           int64_t most, CUstream_st* stream);

}  // namespace tessera
