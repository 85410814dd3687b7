// SPDX-License-Identifier: Apache-2.0
// A block owns 128 keys of a head and goes through the tiles of queries that see them, the last
// first, and for each through the heads of queries that share the keys. One warp has tiles of q and
// do copied; two warpgroups multiply; others add tiles of dq to memory in rotation (add_sums).
#include "exec/cuda/hopper_attention.h"
#include "exec/cuda/hopper_grad_copies.h"
#include "exec/cuda/hopper_grad_multiplier.h"
#include "exec/cuda/tensor_map.h"

namespace tessera {
namespace {

template <typename C>
struct KeySums {
  float dk[C::kE / 2], dv[C::kValueE / 2];
};

// Named barriers: a group's ds is in shared memory, and nobody reads it any more.
inline constexpr int kShared = 1, kFree = 3;

// Adds the group's part of dq to a stage of sums, while the rest of dk is multiplied.
template <typename C>
__device__ inline void give_sums(const GradMultiplier<C>& m, const GradBarriers<C>& at,
                                 KeySums<C>& sums, int step,
                                 const uint32_t (&ds)[GradMultiplier<C>::kPairs], uint32_t q,
                                 uint32_t shared_ds, bool last) {
  constexpr int kSteps = GradMultiplier<C>::kSteps;
  const RingPlace<C::kSumStages> place(step);
  float dq[32];
  begin_products();
  m.multiply_scores(dq, shared_ds);
  end_product_group();
  if constexpr (!C::kWide) {
    m.template add_queries<kSteps / 2, kSteps>(sums.dk, ds, q, true);
    end_product_group();
  }
  wait_for_products<C::kWide ? 0 : 1>();
  m.release(at.dout_empty + 8 * RingPlace<C::kDoutStages>(step).stage);
  wait_for_phase(at.sums_empty + 8 * place.stage, place.parity ^ 1);
  m.stage_sums(dq, place.stage);
  if constexpr (C::kWide) {
    float middle[16];
    begin_products();
    m.multiply_middle(middle, shared_ds);
    end_product_group();
    wait_for_products<0>();
    if (!last) arrive_at_threads(kFree + m.group, kWarpgroups * kWarpgroup);
    m.stage_sums(middle, place.stage, 8);
  }
  arrive(at.sums_full + 8 * place.stage);
}

// One tile of queries of one head. The products of dk are in two parts: the first keeps the tensor
// cores busy while the other warpgroup's ds is waited for, the second while dq is written. Wide
// heads leave no registers for that, nor for dp beside probabilities in fp32.
template <typename C>
__device__ inline void add_tile(const GradMultiplier<C>& m, const GradBarriers<C>& at,
                                KeySums<C>& sums, int step, bool whole, bool last, int token,
                                float scale) {
  const RingPlace<C::kStages> q_place(step);
  const RingPlace<C::kDoutStages> dout_place(step);
  const uint32_t q = m.base + C::kQ + q_place.stage * C::kQBytes;
  const uint32_t dout = m.base + C::kDout + dout_place.stage * C::kDoutBytes;
  const uint32_t delta = m.base + C::kDelta + dout_place.stage * C::kTermBytes;
  const uint32_t shared_ds = m.base + C::kScores + step % C::kScoreStages * C::kScoreBytes;
  constexpr int kSteps = GradMultiplier<C>::kSteps, kFirstSteps = C::kWide ? kSteps : kSteps / 2;
  float p[GradMultiplier<C>::kScores], dp[GradMultiplier<C>::kScores];
  uint32_t pairs[GradMultiplier<C>::kPairs], ds[GradMultiplier<C>::kPairs];
  const auto multiply_values = [&] {
    wait_for_phase(at.dout_full + 8 * dout_place.stage, dout_place.parity);
    begin_products();
    m.template multiply_keys<C::kValueE>(dp, m.base + C::kV, dout);
    end_product_group();
  };
  wait_for_phase(at.q_full + 8 * q_place.stage, q_place.parity);
  begin_products();
  m.template multiply_keys<C::kE>(p, m.base + C::kK, q);
  end_product_group();
  if constexpr (!C::kWide) multiply_values();
  wait_for_products<C::kWide ? 0 : 1>();
  m.exponentiate(p, m.base + C::kLse + q_place.stage * C::kTermBytes, scale);
  if (!whole) m.hide(p, token, m.base + C::kPlaces + q_place.stage * C::kPlaceBytes);
#pragma unroll
  for (int j = 0; j < GradMultiplier<C>::kPairs; ++j) pairs[j] = pack(p[2 * j], p[2 * j + 1]);
  if constexpr (C::kWide) multiply_values();
  begin_products();
  m.template add_queries<0, kSteps>(sums.dv, pairs, dout, step > 0);
  end_product_group();
  wait_for_products<C::kWide ? 0 : 1>();
  if constexpr (C::kWide)
    m.weigh(ds, pairs, dp, delta);
  else
    m.weigh(ds, p, dp, delta);
  if (C::kScoreStages == 1 && step > 0)
    wait_for_threads(kFree + 1 - m.group, kWarpgroups * kWarpgroup);
  m.share(ds, shared_ds);
  arrive_at_threads(kShared + m.group, kWarpgroups * kWarpgroup);
  begin_products();
  m.template add_queries<0, kFirstSteps>(sums.dk, ds, q, step > 0);
  end_product_group();
  wait_for_threads(kShared + 1 - m.group, kWarpgroups * kWarpgroup);
  give_sums(m, at, sums, step, ds, q, shared_ds, last);
  wait_for_products<0>();
  m.release(at.q_empty + 8 * q_place.stage);
}

template <typename C>
__device__ void write_keys(const GradMultiplier<C>& m, const KeySums<C>& sums,
                           const GradSizes& sizes, const GradWork<C>& work, Bf16* dk, Bf16* dv) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int key = m.first_key + 8 * half;
    if (key >= sizes.seq) continue;
    const int64_t token = static_cast<int64_t>(work.b) * sizes.seq + key;
    const int64_t vector = token * sizes.kv_heads + work.h;
    const auto write = [&]<int kSums>(Bf16* to, const float(&sum)[kSums], float scale) {
      to += vector * 2 * kSums + 2 * (m.lane % 4);
#pragma unroll
      for (int j = 0; j < kSums / 4; ++j) {
        const int i = 4 * j + 2 * half;
        *reinterpret_cast<uint32_t*>(to + 8 * j) =
            work.tiles > 0 ? pack(sum[i] * scale, sum[i + 1] * scale) : 0;
      }
    };
    write(dk, sums.dk, sizes.scale);
    write(dv, sums.dv, 1);
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
  const float scale = sizes.scale * kLog2OfE;
  wait_for_phase(at.keys, 0);
  const int steps = work.tiles * sizes.group;
  for (int step = 0, i = 0, g = 0; step < steps; ++step) {
    add_tile<C>(m, at, sums, step, work.is_whole(i), step + 1 == steps, work.tile(i) * C::kQueries,
                scale);
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
    set_count(base + C::kAdded, 0);
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
    if (threadIdx.x == 0)
      copy_tiles<C>(maps, sizes, w, work, at, base);
    else if (threadIdx.x % 32 == 0)
      add_sums<C>(sizes, w, work, at, base, static_cast<int>(threadIdx.x / 32) - 1);
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
  launch(call,
         Grid{.blocks = blocks_for(num_rows * (C::kValueE / 8), kThreads), .threads = kThreads},
         grad_rows_kernel<C::kValueE>, rows, num_rows);
  if constexpr (!C::kPlain) find_spans(call, s, places, w);
  const auto map = [&](size_t operand, int64_t e, int64_t of_heads, int tokens) {
    return make_tensor_map(call.operand(operand).data, {e, of_heads, s.seq, s.batch}, 2, tokens);
  };
  const GradMaps maps{map(0, C::kE, heads, C::kQueries), map(1, C::kE, s.kv_heads, C::kKeys),
                      map(2, C::kValueE, s.kv_heads, C::kKeys),
                      map(5, C::kValueE, heads, C::kQueries)};
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

// f.operator()<e, value_e>() of these sizes of heads; whether there is a kernel for them.
template <typename F>
bool dispatch_head_sizes(const AttentionSizes& s, F f) {
  if (s.e == 64 && s.value_e == 64) return f.template operator()<64, 64>(), true;
  if (s.e == 128 && s.value_e == 128) return f.template operator()<128, 128>(), true;
  if (s.e == 192 && s.value_e == 128) return f.template operator()<192, 128>(), true;
  return false;
}

}  // namespace

bool hopper_takes_attention_grad(const TensorType& q, const TensorType& v) {
  const AttentionSizes s(q, v);
  const int64_t padded = num_blocks(s.seq, kGradKeys) * kGradKeys;
  int most_tiles = 0;
  return q.dtype == DType::Bf16 &&
         dispatch_head_sizes(s,
                             [&]<int kE, int kValueE>() {
                               most_tiles = GradConfig<kE, kValueE, false>::most_tiles();
                             }) &&
         padded / grad_queries(static_cast<int>(s.e)) <= most_tiles &&
         s.batch * s.kv_heads * s.group * padded < (int64_t{1} << 30) && is_hopper();
}

int64_t hopper_attention_grad_bytes(const AttentionSizes& sizes) {
  return GradWorkspace(nullptr, sizes).bytes;
}

void enqueue_hopper_attention_grad(const CudaCall& call) {
  const AttentionSizes s(*call.operand(0).type, *call.operand(2).type);
  TESSERA_CHECK(static_cast<int64_t>(call.workspace.size()) >= hopper_attention_grad_bytes(s));
  const bool taken = dispatch_head_sizes(s, [&]<int kE, int kValueE>() {
    if (call.plain_causal)
      launch_grad<GradConfig<kE, kValueE, true>>(call, s);
    else
      launch_grad<GradConfig<kE, kValueE, false>>(call, s);
  });
  TESSERA_CHECK(taken);
}

}  // namespace tessera
