// SPDX-License-Identifier: Apache-2.0
// A few blocks for each run of rows, which is contiguous on both sides; those of a run that turns
// out short have nothing to do.
#include <cuda_runtime.h>

#include <algorithm>

#include "comm/row_moves.h"
#include "core/error.h"

namespace tessera {
namespace {

constexpr int kThreads = 256;

struct RowBuffers {
  const std::byte* inputs[kMostRowMembers];
  std::byte* outputs[kMostRowMembers];
  const int32_t* ends[kMostRowMembers];  // each member's copy of the table
};

// By the blocks along x.
template <typename Word>
__device__ void copy_rows(const std::byte* from, int64_t from_row, std::byte* to, int64_t to_row,
                          int64_t rows, int64_t row_bytes) {
  const int64_t row_words = row_bytes / static_cast<int64_t>(sizeof(Word));
  const Word* source = reinterpret_cast<const Word*>(from) + from_row * row_words;
  Word* target = reinterpret_cast<Word*>(to) + to_row * row_words;
  const int64_t stride = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
       i < rows * row_words; i += stride)
    target[i] = source[i];
}

// Blocks: slices of a run, runs between two members, pairs of members.
template <typename Word>
__global__ void __launch_bounds__(kThreads)
    move_rows_kernel(const __grid_constant__ RowBuffers buffers, MovedRows rows) {
  rows.from = static_cast<int>(blockIdx.z) / rows.members;
  rows.to = static_cast<int>(blockIdx.z) % rows.members;
  rows.table.ends = buffers.ends[rows.to];
  const RowRun run = rows.run(blockIdx.y);
  copy_rows<Word>(buffers.inputs[rows.from], rows.input_row(run), buffers.outputs[rows.to],
                  rows.output_row(run), run.rows, rows.row_bytes);
}

// What a run has within the room for packed rows.
__device__ int64_t rows_within(const RowRun& run, int64_t most) {
  return run.packed + run.rows < most ? run.rows : max(int64_t{0}, most - run.packed);
}

template <typename Word>
__global__ void __launch_bounds__(kThreads)
    pack_rows_kernel(MovedRows rows, const std::byte* input, std::byte* packed, int64_t most) {
  const RowRun run = rows.run(blockIdx.y);
  copy_rows<Word>(input, rows.input_row(run), packed, run.packed, rows_within(run, most),
                  rows.row_bytes);
}

template <typename Word>
__global__ void __launch_bounds__(kThreads)
    unpack_rows_kernel(MovedRows rows, const std::byte* packed, std::byte* output, int64_t most) {
  const RowRun run = rows.run(blockIdx.y);
  copy_rows<Word>(packed, run.packed, output, rows.output_row(run), rows_within(run, most),
                  rows.row_bytes);
}

// All runs might have come to one expert: each gets enough blocks to be quick, and few enough that
// those of empty ones cost little.
dim3 blocks_for(const MovedRows& rows, int pairs) {
  constexpr int64_t kMostBlocks = 8192, kFewest = 4;
  const int64_t runs = rows.num_runs() * pairs;
  const int64_t wanted = (rows.table.rows * rows.row_bytes / 16 + kThreads - 1) / kThreads;
  const int64_t slices = std::clamp<int64_t>(wanted, 1, std::max(kFewest, kMostBlocks / runs));
  return {static_cast<unsigned>(slices), static_cast<unsigned>(rows.num_runs()),
          static_cast<unsigned>(pairs)};
}

uintptr_t address(const std::byte* data) { return reinterpret_cast<uintptr_t>(data); }

// Calls launch with the widest word that rows and buffers are multiples of; `addresses` has the
// bits of all of these.
template <typename Launch>
void with_word(uintptr_t addresses, const MovedRows& rows, Launch&& launch) {
  const uintptr_t bits = addresses | static_cast<uintptr_t>(rows.row_bytes);
  if (bits % 16 == 0)
    launch.template operator()<uint4>();
  else if (bits % 8 == 0)
    launch.template operator()<uint64_t>();
  else if (bits % 4 == 0)
    launch.template operator()<uint32_t>();
  else
    launch.template operator()<uint16_t>();
}

}  // namespace

void enqueue_row_moves(std::span<const Collective> posted, cudaStream_t stream) {
  TESSERA_CHECK(posted.size() <= kMostRowMembers, "{} members", posted.size());
  const auto members = static_cast<int>(posted.size());
  const MovedRows rows = moved_rows(header_of(posted[0], 0), posted[0].table, members, 0, 0);
  RowBuffers buffers{};
  uintptr_t addresses = 0;
  for (size_t member = 0; member < posted.size(); ++member) {
    buffers.inputs[member] = posted[member].input;
    buffers.outputs[member] = posted[member].output;
    buffers.ends[member] = posted[member].table.ends;
    addresses |= address(posted[member].input) | address(posted[member].output);
  }
  with_word(addresses, rows, [&]<typename Word>() {
    move_rows_kernel<Word>
        <<<blocks_for(rows, members * members), kThreads, 0, stream>>>(buffers, rows);
  });
}

void enqueue_row_packing(const MovedRows& rows, const std::byte* input, std::byte* packed,
                         int64_t most, cudaStream_t stream) {
  with_word(address(input) | address(packed), rows, [&]<typename Word>() {
    pack_rows_kernel<Word><<<blocks_for(rows, 1), kThreads, 0, stream>>>(rows, input, packed, most);
  });
}

void enqueue_row_unpacking(const MovedRows& rows, const std::byte* packed, std::byte* output,
                           int64_t most, cudaStream_t stream) {
  with_word(address(packed) | address(output), rows, [&]<typename Word>() {
    unpack_rows_kernel<Word>
        <<<blocks_for(rows, 1), kThreads, 0, stream>>>(rows, packed, output, most);
  });
}

}  // namespace tessera
