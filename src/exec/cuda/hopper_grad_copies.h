// SPDX-License-Identifier: Apache-2.0
// What Hopper's copy engine does for a block of attention's gradient, by one thread each: tiles of
// keys, values, queries and do come to shared memory, tiles of dq are added to memory in turn.
#pragma once

#include "exec/cuda/hopper_grad_work.h"
#include "exec/cuda/wgmma.h"

namespace tessera {

struct GradMaps {
  CUtensorMap q, k, v, dout;
};

// By one thread.
template <typename C>
__device__ void copy_tiles(const GradMaps& maps, const GradSizes& sizes, const GradWorkspace& w,
                           const GradWork<C>& work, const GradBarriers<C>& at, uint32_t base) {
  // Boxes of 64 elements of a head's tokens.
  const auto copy = [&](const CUtensorMap& map, uint32_t to, int elements, int tokens, int head,
                        int token, uint32_t full) {
    for (int e = 0; e < elements; e += kChunk)
      copy_box(base + to + e * tokens * 2, map, e, head, token, work.b, full);
  };
  arrive_expecting(at.keys, C::kKBytes + C::kVBytes);
  copy(maps.k, C::kK, C::kE, C::kKeys, work.h, work.n * C::kKeys, at.keys);
  copy(maps.v, C::kV, C::kValueE, C::kKeys, work.h, work.n * C::kKeys, at.keys);
  for (int i = 0, step = 0; i < work.tiles; ++i) {
    const int token = work.tile(i) * C::kQueries;
    for (int g = 0; g < sizes.group; ++g, ++step) {
      const RingPlace<C::kStages> ring(step);
      const RingPlace<C::kDoutStages> dout_ring(step);
      const int head = work.h * sizes.group + g;
      const int row = (work.pair * sizes.group + g) * w.padded + token;
      const uint32_t q_full = at.q_full + 8 * ring.stage;
      const uint32_t dout_full = at.dout_full + 8 * dout_ring.stage;
      wait_for_phase(at.q_empty + 8 * ring.stage, ring.parity ^ 1);
      arrive_expecting(q_full, C::kQBytes + C::kTermBytes + C::kPlaceBytes);
      copy(maps.q, C::kQ + ring.stage * C::kQBytes, C::kE, C::kQueries, head, token, q_full);
      copy_bytes(base + C::kLse + ring.stage * C::kTermBytes, w.lse + row, C::kTermBytes, q_full);
      if constexpr (!C::kPlain)
        copy_bytes(base + C::kPlaces + ring.stage * C::kPlaceBytes,
                   w.places + work.b * w.padded + token, C::kPlaceBytes, q_full);
      wait_for_phase(at.dout_empty + 8 * dout_ring.stage, dout_ring.parity ^ 1);
      arrive_expecting(dout_full, C::kDoutBytes + C::kTermBytes);
      copy(maps.dout, C::kDout + dout_ring.stage * C::kDoutBytes, C::kValueE, C::kQueries, head,
           token, dout_full);
      copy_bytes(base + C::kDelta + dout_ring.stage * C::kTermBytes, w.delta + row, C::kTermBytes,
                 dout_full);
    }
  }
}

__device__ inline void wait_for_turn(const int* turns, int own) {
  int turn;
  do {
    asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(turn) : "l"(turns) : "memory");
  } while (turn != own);
}
__device__ inline void end_turn(int* turns) {
  wait_until_written();
  order_with_copies();
  asm volatile("fence.acq_rel.gpu;\nred.release.gpu.global.add.s32 [%0], 1;" ::"l"(turns)
               : "memory");
}

// By one thread of kAdders: every kAdders-th tile of dq goes to memory when its turn has come. A
// tile is a sum over blocks; they add to it in the order of their keys, so bits repeat. Blocks take
// their work by tickets, those of earlier keys first, so whoever is waited for has begun; and since
// the one with earlier keys meets every tile earlier, a tile's turn has mostly come by the time it
// is ready. A turn ends when the tile is in memory, which takes longer than a step: hence several
// adders.
template <typename C>
__device__ void add_sums(const GradSizes& sizes, const GradWorkspace& w, const GradWork<C>& work,
                         const GradBarriers<C>& at, uint32_t base, int adder) {
  const int steps = work.tiles * sizes.group;
  for (int step = adder; step < steps; step += kAdders) {
    const int m = work.tile(step / sizes.group), g = step % sizes.group;
    const auto [stage, parity] = RingPlace<C::kSumStages>(step);
    const int before = C::kPlain ? work.n : work.n - w.spans[work.b * w.query_tiles + m].first;
    const int tile = (work.pair * sizes.group + g) * w.query_tiles + m;
    if (sizes.in_turn) wait_for_turn(w.turns + tile, before);
    // Tiles leave their stages in order; else a phase could be taken for the one two before it.
    wait_for_count(base + C::kAdded, step);
    wait_for_phase(at.sums_full + 8 * stage, parity);
    order_with_copies();
    float* const to = w.sums + static_cast<int64_t>(tile) * (C::kSumBytes / 4);
    const uint32_t from = base + C::kSums + stage * C::kSumBytes;
    if (sizes.in_turn && before == 0)
      write_bytes(to, from, C::kSumBytes);
    else
      add_floats(to, from, C::kSumBytes);
    wait_until_read();
    arrive(at.sums_empty + 8 * stage);
    set_count(base + C::kAdded, step + 1);
    if (sizes.in_turn) end_turn(w.turns + tile);
  }
}

}  // namespace tessera
