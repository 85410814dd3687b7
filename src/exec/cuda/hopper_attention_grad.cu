// SPDX-License-Identifier: Apache-2.0
// A block owns 128 keys of a head and goes through the tiles of queries that see them, the last
// first, and for each through the heads of queries that share the keys. One warp has tiles of q and
// do copied; two warpgroups multiply; a warp for each adds its half of dq to memory (add_sums).
#include "exec/cuda/hopper_attention.h"
#include "exec/cuda/hopper_grad_multiplier.h"
#include "exec/cuda/tensor_map.h"

namespace tessera {
namespace {

struct GradMaps {
  CUtensorMap q, k, v, dout;
};

// By one thread.
template <typename C>
__device__ void copy_tiles(const GradMaps& maps, const GradSizes& sizes, const GradWorkspace& w,
                           const GradWork<C>& work, const GradBarriers<C>& at, uint32_t base) {
  arrive_expecting(at.keys, 2 * C::kKeyBytes);
  for (int e = 0; e < C::kE; e += kChunk) {
    copy_box(base + C::kK + e * C::kKeys * 2, maps.k, e, work.h, work.n * C::kKeys, work.b,
             at.keys);
    copy_box(base + C::kV + e * C::kKeys * 2, maps.v, e, work.h, work.n * C::kKeys, work.b,
             at.keys);
  }
  StageRing<C::kStages> ring;
  const auto copy = [&](const CUtensorMap& map, uint32_t to, int head, int token, uint32_t full) {
    for (int e = 0; e < C::kE; e += kChunk)
      copy_box(base + to + ring.stage * C::kQueryBytes + e * C::kQueries * 2, map, e, head, token,
               work.b, full);
  };
  for (int i = 0; i < work.tiles; ++i) {
    const int token = work.tile(i) * C::kQueries;
    for (int g = 0; g < sizes.group; ++g, ring.advance()) {
      const int head = work.h * sizes.group + g;
      const int row = (work.pair * sizes.group + g) * w.padded + token;
      const uint32_t q_full = at.q_full + 8 * ring.stage, dout_full = at.dout_full + 8 * ring.stage;
      wait_for_phase(at.q_empty + 8 * ring.stage, ring.parity ^ 1);
      arrive_expecting(q_full, C::kQueryBytes + C::kTermBytes + C::kPlaceBytes);
      copy(maps.q, C::kQ, head, token, q_full);
      copy_bytes(base + C::kLse + ring.stage * C::kTermBytes, w.lse + row, C::kTermBytes, q_full);
      if constexpr (!C::kPlain)
        copy_bytes(base + C::kPlaces + ring.stage * C::kPlaceBytes,
                   w.places + work.b * w.padded + token, C::kPlaceBytes, q_full);
      wait_for_phase(at.dout_empty + 8 * ring.stage, ring.parity ^ 1);
      arrive_expecting(dout_full, C::kQueryBytes + C::kTermBytes);
      copy(maps.dout, C::kDout, head, token, dout_full);
      copy_bytes(base + C::kDelta + ring.stage * C::kTermBytes, w.delta + row, C::kTermBytes,
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

// By one thread: half of each tile of dq goes to memory when its turn has come. A tile is a sum
// over blocks; they add to it in the order of their keys, so bits repeat. Blocks take their work by
// tickets, those of earlier keys first, so whoever is waited for has begun; and since the one with
// earlier keys meets every tile earlier, a tile's turn has mostly come by the time it is ready.
template <typename C>
__device__ void add_sums(const GradSizes& sizes, const GradWorkspace& w, const GradWork<C>& work,
                         const GradBarriers<C>& at, uint32_t base, int half) {
  StageRing<C::kSumStages> ring;
  for (int i = 0; i < work.tiles; ++i) {
    const int m = work.tile(i);
    const int before = C::kPlain ? work.n : work.n - w.spans[work.b * w.query_tiles + m].first;
    for (int g = 0; g < sizes.group; ++g, ring.advance()) {
      const int tile = ((work.pair * sizes.group + g) * w.query_tiles + m) * 2 + half;
      const int place = 2 * ring.stage + half;
      if (sizes.in_turn) wait_for_turn(w.turns + tile, before);
      wait_for_phase(at.sums_full + 8 * place, ring.parity);
      order_with_copies();
      float* const to = w.sums + static_cast<int64_t>(tile) * (C::kHalfSumBytes / 4);
      const uint32_t from = base + C::kSums + place * C::kHalfSumBytes;
      if (sizes.in_turn && before == 0)
        write_bytes(to, from, C::kHalfSumBytes);
      else
        add_floats(to, from, C::kHalfSumBytes);
      wait_until_read();
      arrive(at.sums_empty + 8 * place);
      if (sizes.in_turn) end_turn(w.turns + tile);
    }
  }
}

template <typename C>
struct KeySums {
  float dk[C::kE / 2], dv[C::kE / 2];
};

// One tile of queries of one head. The products of dk are in two parts: the first keeps the tensor
// cores busy while the other warpgroup's ds is waited for, the second while dq is written.
template <typename C>
__device__ inline void add_tile(const GradMultiplier<C>& m, const GradBarriers<C>& at,
                                KeySums<C>& sums, const StageRing<C::kStages>& ring,
                                StageRing<C::kSumStages>& sum_ring, int step, bool whole, int token,
                                float scale) {
  const uint32_t q = m.base + C::kQ + ring.stage * C::kQueryBytes;
  const uint32_t dout = m.base + C::kDout + ring.stage * C::kQueryBytes;
  const uint32_t shared_ds = m.base + C::kScores + step % 2 * C::kScoreBytes;
  constexpr int kSteps = GradMultiplier<C>::kSteps;
  float p[GradMultiplier<C>::kScores], dp[GradMultiplier<C>::kScores], dq[32];
  uint32_t pairs[GradMultiplier<C>::kPairs], ds[GradMultiplier<C>::kPairs];
  wait_for_phase(at.q_full + 8 * ring.stage, ring.parity);
  begin_products();
  m.multiply_keys(p, m.base + C::kK, q);
  end_product_group();
  wait_for_phase(at.dout_full + 8 * ring.stage, ring.parity);
  begin_products();
  m.multiply_keys(dp, m.base + C::kV, dout);
  end_product_group();
  wait_for_products<1>();
  m.exponentiate(p, m.base + C::kLse + ring.stage * C::kTermBytes, scale);
  if (!whole) m.hide(p, token, m.base + C::kPlaces + ring.stage * C::kPlaceBytes);
#pragma unroll
  for (int j = 0; j < GradMultiplier<C>::kPairs; ++j) pairs[j] = pack(p[2 * j], p[2 * j + 1]);
  begin_products();
  m.template add_queries<0, kSteps>(sums.dv, pairs, dout, step > 0);
  end_product_group();
  wait_for_products<1>();
  m.weigh(ds, p, dp, m.base + C::kDelta + ring.stage * C::kTermBytes);
  m.share(ds, shared_ds);
  arrive_at_threads(1 + m.group, kWarpgroups * kWarpgroup);
  begin_products();
  m.template add_queries<0, kSteps / 2>(sums.dk, ds, q, step > 0);
  end_product_group();
  wait_for_threads(2 - m.group, kWarpgroups * kWarpgroup);
  begin_products();
  m.multiply_scores(dq, shared_ds);
  end_product_group();
  m.template add_queries<kSteps / 2, kSteps>(sums.dk, ds, q, true);
  end_product_group();
  wait_for_products<1>();
  m.release(at.dout_empty + 8 * ring.stage);
  const int place = 2 * sum_ring.stage + m.group;
  wait_for_phase(at.sums_empty + 8 * place, sum_ring.parity ^ 1);
  m.stage_sums(dq, sum_ring.stage);
  arrive(at.sums_full + 8 * place);
  sum_ring.advance();
  wait_for_products<0>();
  m.release(at.q_empty + 8 * ring.stage);
}

template <typename C>
__device__ void write_keys(const GradMultiplier<C>& m, const KeySums<C>& sums,
                           const GradSizes& sizes, const GradWork<C>& work, Bf16* dk, Bf16* dv) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int key = m.first_key + 8 * half;
    if (key >= sizes.seq) continue;
    const int64_t token = static_cast<int64_t>(work.b) * sizes.seq + key;
    const int64_t to = (token * sizes.kv_heads + work.h) * C::kE + 2 * (m.lane % 4);
#pragma unroll
    for (int j = 0; j < C::kE / 8; ++j) {
      const int i = 4 * j + 2 * half;
      const bool any = work.tiles > 0;
      *reinterpret_cast<uint32_t*>(dk + to + 8 * j) =
          any ? pack(sums.dk[i] * sizes.scale, sums.dk[i + 1] * sizes.scale) : 0;
      *reinterpret_cast<uint32_t*>(dv + to + 8 * j) = any ? pack(sums.dv[i], sums.dv[i + 1]) : 0;
    }
  }
}

template <typename C>
__device__ void multiply_tiles(const AttentionPlaces& places, const GradSizes& sizes,
                               const GradWork<C>& work, const GradBarriers<C>& at, uint32_t base,
                               Bf16* dk, Bf16* dv) {
  GradMultiplier<C> m;
  m.base = base;
  m.group = static_cast<int>(threadIdx.x / kWarpgroup) - 1;
  m.thread = static_cast<int>(threadIdx.x % kWarpgroup);
  m.warp = m.thread / 32;
  m.lane = m.thread % 32;
  m.first_key = work.n * C::kKeys + 64 * m.group + 16 * m.warp + m.lane / 4;
  if constexpr (!C::kPlain)
    for (int i = 0; i < 2; ++i) {
      const int key = m.first_key + 8 * i;
      const int64_t token = static_cast<int64_t>(work.b) * sizes.seq + key;
      m.keys[i] = key < sizes.seq ? Place{places.key_positions[token], places.key_documents[token]}
                                  : Place{INT_MAX, 0};
    }
  KeySums<C> sums;
  StageRing<C::kStages> ring;
  StageRing<C::kSumStages> sum_ring;
  const float scale = sizes.scale * kLog2OfE;
  wait_for_phase(at.keys, 0);
  const int steps = work.tiles * sizes.group;
  for (int step = 0, i = 0, g = 0; step < steps; ++step) {
    add_tile<C>(m, at, sums, ring, sum_ring, step, work.is_whole(i), work.tile(i) * C::kQueries,
                scale);
    ring.advance();
    if (++g == sizes.group) g = 0, ++i;
  }
  write_keys<C>(m, sums, sizes, work, dk, dv);
}

template <typename C>
__global__ void __launch_bounds__(kGradThreads, 1)
    attention_grad_kernel(const __grid_constant__ GradMaps maps, const AttentionPlaces places,
                          const GradSizes sizes, const GradWorkspace w, Bf16* dk, Bf16* dv) {
  extern __shared__ __align__(1024) std::byte shared[];
  const uint32_t base = shared_address(shared);
  const GradBarriers<C> at(base + C::kBarriers);
  int& ticket = *reinterpret_cast<int*>(shared + C::kTicket);
  if (threadIdx.x == 0) {
    at.init();
    ticket = atomicAdd(w.turns + w.num_turns - 1, 1);
  }
  __syncthreads();
  GradWork<C> work(ticket, sizes, w);
  if constexpr (!C::kPlain) {
    auto* const list = reinterpret_cast<uint16_t*>(shared + C::kList);
    int& tiles = *reinterpret_cast<int*>(shared + C::kTiles);
    if (threadIdx.x < 32) {
      const int count = list_tiles<C>(work, w, list);
      if (threadIdx.x == 0) tiles = count;
    }
    __syncthreads();
    work.tiles = tiles;
    work.list = list;
  }
  if (threadIdx.x < kWarpgroup) {
    give_registers<24>();
    if (threadIdx.x == 0) copy_tiles<C>(maps, sizes, w, work, at, base);
    if (threadIdx.x == 32) add_sums<C>(sizes, w, work, at, base, 0);
    if (threadIdx.x == 64) add_sums<C>(sizes, w, work, at, base, 1);
  } else {
    take_registers<240>();
    multiply_tiles<C>(places, sizes, work, at, base, dk, dv);
  }
}

void find_spans(const CudaCall& call, const AttentionSizes& s, const AttentionPlaces& places,
                const GradWorkspace& w) {
  const auto tiles = [&](int count) {
    return Grid{.blocks = dim3(static_cast<unsigned>(count), 1, static_cast<unsigned>(s.batch)),
                .threads = 32};
  };
  launch(call, tiles(w.query_tiles), grad_places_kernel<true>, places, w, w.padded / w.query_tiles);
  launch(call, tiles(w.key_tiles), grad_places_kernel<false>, places, w, kGradKeys);
  launch(call, tiles(w.query_tiles), grad_spans_kernel, w);
}

template <typename C>
void launch_grad(const CudaCall& call, const AttentionSizes& s) {
  const GradWorkspace w(call.workspace.data(), s);
  const AttentionPlaces places(call, 6, s);
  const int64_t heads = s.kv_heads * s.group;
  const GradSizes sizes{static_cast<int>(s.batch),
                        static_cast<int>(s.seq),
                        static_cast<int>(s.kv_heads),
                        static_cast<int>(s.group),
                        static_cast<float>(attention_scale(call.attributes, s.e)),
                        call.repeatable};
  if (!call.repeatable)
    check_cuda(cudaMemsetAsync(w.sums, 0, static_cast<size_t>(w.sum_bytes), call.stream),
               "clear the sums of attention's gradient");
  check_cuda(
      cudaMemsetAsync(w.turns, 0, static_cast<size_t>(w.num_turns) * sizeof(int), call.stream),
      "clear the turns of attention's gradient");
  const GradRows rows{call.operand(3).as<Bf16>(),
                      call.operand(5).as<Bf16>(),
                      call.operand(4).as<float>(),
                      sizes.seq,
                      static_cast<int>(heads),
                      w.padded,
                      w.lse,
                      w.delta};
  const int64_t num_rows = s.batch * heads * w.padded;
  launch(call, Grid{.blocks = blocks_for(num_rows * (C::kE / 8), kThreads), .threads = kThreads},
         grad_rows_kernel<C::kE>, rows, num_rows);
  if constexpr (!C::kPlain) find_spans(call, s, places, w);
  const auto map = [&](size_t operand, int64_t of_heads, int tokens) {
    return make_tensor_map(call.operand(operand).data, {s.e, of_heads, s.seq, s.batch}, 2, tokens);
  };
  const GradMaps maps{map(0, heads, C::kQueries), map(1, s.kv_heads, C::kKeys),
                      map(2, s.kv_heads, C::kKeys), map(5, heads, C::kQueries)};
  const auto kernel = attention_grad_kernel<C>;
  const size_t bytes = C::shared_bytes(w.query_tiles);
  check_cuda(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                  static_cast<int>(bytes)),
             "allow shared memory");
  kernel<<<static_cast<unsigned>(s.batch * s.kv_heads * w.key_tiles), kGradThreads, bytes,
           call.stream>>>(maps, places, sizes, w, call.result(1).as<Bf16>(),
                          call.result(2).as<Bf16>());
  check_cuda(cudaGetLastError(), "launch attention's gradient");
  const auto halves = static_cast<unsigned>(2 * s.batch * heads * w.query_tiles);
  launch(call, Grid{.blocks = halves, .threads = kWarpgroup}, grad_result_kernel<C::kE>, w,
         C::kPlain ? nullptr : w.spans, call.result(0).as<Bf16>(), sizes.seq,
         static_cast<int>(heads), sizes.scale);
}

}  // namespace

bool hopper_takes_attention_grad(const TensorType& q) {
  const AttentionSizes s(q);
  const int64_t tiles =
      num_blocks(s.seq, kGradKeys) * kGradKeys / grad_queries(static_cast<int>(s.e));
  const int64_t rows = s.batch * s.kv_heads * s.group * num_blocks(s.seq, kGradKeys) * kGradKeys;
  return q.dtype == DType::Bf16 && (s.e == 64 || s.e == 128) && rows < (int64_t{1} << 30) &&
         tiles <= GradConfig<64, false>::most_tiles() &&
         tiles <= GradConfig<128, false>::most_tiles() && is_hopper();
}

int64_t hopper_attention_grad_bytes(const AttentionSizes& sizes) {
  return GradWorkspace(nullptr, sizes).bytes;
}

void enqueue_hopper_attention_grad(const CudaCall& call) {
  const AttentionSizes s(*call.operand(0).type);
  TESSERA_CHECK(static_cast<int64_t>(call.workspace.size()) >= hopper_attention_grad_bytes(s));
  if (call.plain_causal)
    return s.e == 64 ? launch_grad<GradConfig<64, true>>(call, s)
                     : launch_grad<GradConfig<128, true>>(call, s);
  return s.e == 64 ? launch_grad<GradConfig<64, false>>(call, s)
                   : launch_grad<GradConfig<128, false>>(call, s);
}

}  // namespace tessera
