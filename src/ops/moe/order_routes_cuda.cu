// SPDX-License-Identifier: Apache-2.0
// A counting sort in two passes over chunks of choices. A block counts a chunk; then each block
// adds what is before its own chunk and places its choices, a warp after the other, so that equal
// ones stay in order.
#include "exec/cuda/kernel_launch.h"
#include "ops/moe/pool.h"

namespace tessera {
namespace {

// Few chunks, since every block reads the counts of all; each a multiple of a block's threads.
struct ChoiceChunks {
  int64_t choices, per_chunk;

  explicit ChoiceChunks(int64_t count) : choices(count), per_chunk(4 * kThreads) {
    constexpr int64_t kMostChunks = 128;
    while (per_chunk * kMostChunks < choices) per_chunk *= 2;
  }
  int64_t count() const { return (choices + per_chunk - 1) / per_chunk; }
};

struct Routes {
  const int32_t *chosen, *shard;     // shard: null where the pool has all experts
  int64_t choices, per_chunk, rows;  // rows: of the pool
  int chunks, experts;
  int32_t *counts, *place, *source, *ends;  // counts: [chunk, expert]
  int32_t* needed;                          // null where nobody asks

  // In the pool; -1: in none, or in another rank's.
  __device__ int expert(int64_t i) const {
    const int e = i < choices ? chosen[i] - (shard ? *shard * experts : 0) : -1;
    return e >= 0 && e < experts ? e : -1;
  }
};

__global__ void __launch_bounds__(kThreads) count_choices_kernel(Routes r) {
  extern __shared__ int32_t counts[];
  for (int e = static_cast<int>(threadIdx.x); e < r.experts; e += kThreads) counts[e] = 0;
  __syncthreads();
  const int64_t begin = blockIdx.x * r.per_chunk;
  for (int64_t i = begin + threadIdx.x; i < begin + r.per_chunk; i += kThreads)
    if (const int e = r.expert(i); e >= 0) atomicAdd(counts + e, 1);  // integers: in any order
  __syncthreads();
  for (int e = static_cast<int>(threadIdx.x); e < r.experts; e += kThreads)
    r.counts[static_cast<int64_t>(blockIdx.x) * r.experts + e] = counts[e];
}

// next[e] = the row of the chunk's first choice of e. Gives the number of rows of all experts.
__device__ int64_t set_first_rows(const Routes& r, int32_t* next, int32_t* totals) {
  const int chunk = static_cast<int>(blockIdx.x);
  for (int e = static_cast<int>(threadIdx.x); e < r.experts; e += kThreads) {
    int32_t before = 0, total = 0;
#pragma unroll 8
    for (int c = 0; c < r.chunks; ++c) {
      const int32_t count = r.counts[static_cast<int64_t>(c) * r.experts + e];
      before += c < chunk ? count : 0;
      total += count;
    }
    next[e] = before;
    totals[e] = total;
  }
  __syncthreads();
  int32_t used = 0;  // the same in every warp; the first one writes
  const int lane = static_cast<int>(threadIdx.x % 32);
  for (int first = 0; first < r.experts; first += 32) {
    const int e = first + lane;
    const int32_t own = e < r.experts ? totals[e] : 0;
    int32_t until = own;
    for (int distance = 1; distance < 32; distance *= 2) {
      const int32_t below = __shfl_up_sync(~0u, until, distance);
      if (lane >= distance) until += below;
    }
    if (threadIdx.x < 32 && e < r.experts) {
      next[e] += used + until - own;
      if (chunk == 0) r.ends[e] = static_cast<int32_t>(min(int64_t{used} + until, r.rows));
      if (chunk == 0 && r.needed) r.needed[e] = used + until;
    }
    used += __shfl_sync(~0u, until, 31);
  }
  __syncthreads();
  return used;
}

__global__ void __launch_bounds__(kThreads) place_choices_kernel(Routes r) {
  extern __shared__ int32_t shared[];
  int32_t *next = shared, *totals = shared + r.experts;
  const int64_t used = set_first_rows(r, next, totals);
  const int64_t begin = blockIdx.x * r.per_chunk, end = min(r.choices, begin + r.per_chunk);
  const int warp = static_cast<int>(threadIdx.x / 32), lane = static_cast<int>(threadIdx.x % 32);
  for (int64_t first = begin; first < end; first += kThreads) {
    const int64_t i = first + threadIdx.x;
    const int e = r.expert(i);
    const unsigned equal = __match_any_sync(~0u, e);
    const int before = __popc(equal & ((1u << lane) - 1));
    int64_t row = -1;
    for (int turn = 0; turn < kThreads / 32; ++turn) {
      if (turn == warp && e >= 0) row = next[e] + before;
      __syncwarp();
      if (turn == warp && e >= 0 && before == 0) next[e] += __popc(equal);
      __syncthreads();
    }
    if (i >= end) continue;
    const bool has_row = row >= 0 && row < r.rows;
    r.place[i] = has_row ? static_cast<int32_t>(row) : -1;
    if (has_row) r.source[row] = static_cast<int32_t>(i);
  }
  for (int64_t row = used + first_index(); row < r.rows; row += index_stride()) r.source[row] = -1;
}

}  // namespace

void order_routes_cuda(const CudaCall& call) {
  const TensorRef chosen = call.operand(0), shard = call.operand(1), needed = call.result(3);
  const ChoiceChunks chunks(chosen.type->num_elements());
  const Routes r{.chosen = chosen.as<int32_t>(),
                 .shard = shard ? shard.as<int32_t>() : nullptr,
                 .choices = chunks.choices,
                 .per_chunk = chunks.per_chunk,
                 .rows = pool_rows(*call.result(1).type),
                 .chunks = static_cast<int>(chunks.count()),
                 .experts = static_cast<int>(call.attributes.integer("experts")),
                 .counts = reinterpret_cast<int32_t*>(call.workspace.data()),
                 .place = call.result(0).as<int32_t>(),
                 .source = call.result(1).as<int32_t>(),
                 .ends = call.result(2).as<int32_t>(),
                 .needed = needed ? needed.as<int32_t>() : nullptr};
  const size_t bytes = static_cast<size_t>(r.experts) * sizeof(int32_t);
  TESSERA_CHECK(2 * bytes <= 48 * 1024, "{} experts", r.experts);
  const auto blocks = static_cast<unsigned>(r.chunks);
  launch(call, {.blocks = blocks, .threads = kThreads, .shared_bytes = bytes}, count_choices_kernel,
         r);
  launch(call, {.blocks = blocks, .threads = kThreads, .shared_bytes = 2 * bytes},
         place_choices_kernel, r);
}

int64_t order_routes_cuda_workspace_bytes(const OpCall& call, CausalAttention&) {
  return ChoiceChunks(call.operand(0).num_elements()).count() * call.attributes.integer("experts") *
         static_cast<int64_t>(sizeof(int32_t));
}

}  // namespace tessera
