// SPDX-License-Identifier: Apache-2.0
// Blocks stay and take items of work by tickets. Of each, one warp has the tiles of q, k and v
// copied, also those of the next item while results of one are written; two or three warpgroups
// multiply. No sum is over several blocks, so bits repeat whoever takes an item.
#include <algorithm>
#include <bit>

#include "exec/cuda/hopper_attention.h"
#include "exec/cuda/hopper_forward_multiplier.h"
#include "exec/cuda/tensor_map.h"

namespace tessera {
namespace {

__device__ inline void store_shared(uint32_t to, int value) {
  asm volatile("st.shared.b32 [%0], %1;" ::"r"(to), "r"(value) : "memory");
}
__device__ inline int load_shared(uint32_t from) {
  int value;
  asm volatile("ld.shared.b32 %0, [%1];" : "=r"(value) : "r"(from) : "memory");
  return value;
}

// By one warp, whose first thread waits and copies.
template <typename C>
class ForwardCopier {
 public:
  __device__ ForwardCopier(const ForwardMaps& maps, const ForwardSizes& sizes,
                           const ForwardWorkspace& w, uint32_t base)
      : maps_(maps),
        s_(sizes),
        w_(w),
        at_(base + C::kBarriers),
        base_(base),
        leads_(threadIdx.x % 32 == 0) {}

  __device__ void copy_items(const AttentionPlaces& places) {
    int next = take_ticket();
    while (true) {
      const int ticket = __shfl_sync(0xffffffffu, next, 0);
      if (ticket >= s_.items()) break;
      next = take_ticket();  // known by the time it is asked for
      const ForwardItem<C> item(ticket, s_);
      int previous = -1;
      const auto begin = [&](bool sees_any) { begin_item(item, ticket, sees_any); };
      const auto copy = [&](TileTag tag) {
        copy_keys(item, tag);
        if (previous >= 0) copy_values(item, previous);
        previous = tag.tile();
      };
      if constexpr (C::kPlain)
        each_causal_tile<C>(item, s_, begin, copy);
      else
        each_visible_tile<C>(item, s_, w_, places, begin, copy);
      if (previous >= 0) copy_values(item, previous);
    }
    say(ForwardItem<C>::kNone, 0);
  }

 private:
  __device__ int take_ticket() const { return leads_ ? atomicAdd(w_.ticket, 1) : 0; }

  // Waits for room, says which item comes, and that `bytes` of queries do.
  __device__ void say(int ticket, uint32_t bytes) {
    if (leads_) {
      wait_for_phase(at_.q_empty + 8 * items_.stage, items_.parity ^ 1);
      store_shared(base_ + C::kItems + 4 * items_.stage, ticket);
      arrive_expecting(at_.q_full + 8 * items_.stage, bytes);
    }
  }
  __device__ void begin_item(const ForwardItem<C>& item, int ticket, bool sees_any) {
    say(sees_any ? ticket : ticket | ForwardItem<C>::kSeesNothing, sees_any ? C::kQueryBytes : 0);
    if (leads_ && sees_any)
      for (int e = 0; e < C::kE; e += kChunk)
        copy_box(base_ + C::kQ + items_.stage * C::kQueryBytes + e * C::kRows * 2, maps_.q, e,
                 item.head, item.token, item.b, at_.q_full + 8 * items_.stage);
    items_.advance();
  }
  __device__ void copy_keys(const ForwardItem<C>& item, TileTag tag) {
    if (leads_) {
      const uint32_t full = at_.k_full + 8 * keys_.stage;
      wait_for_phase(at_.k_empty + 8 * keys_.stage, keys_.parity ^ 1);
      store_shared(base_ + C::kTags + 4 * keys_.stage, tag.bits);
      arrive_expecting(full, C::kKeyBytes + C::kPlaceBytes);
      for (int e = 0; e < C::kE; e += kChunk)
        copy_box(base_ + C::kK + keys_.stage * C::kKeyBytes + e * C::kKeys * 2, maps_.k, e,
                 item.kv_head, tag.tile() * C::kKeys, item.b, full);
      if constexpr (!C::kPlain)
        copy_bytes(base_ + C::kPlaces + keys_.stage * C::kPlaceBytes,
                   w_.places + static_cast<int64_t>(item.b) * w_.padded + tag.tile() * C::kKeys,
                   C::kPlaceBytes, full);
    }
    keys_.advance();
  }
  __device__ void copy_values(const ForwardItem<C>& item, int tile) {
    if (leads_) {
      const uint32_t full = at_.v_full + 8 * values_.stage;
      wait_for_phase(at_.v_empty + 8 * values_.stage, values_.parity ^ 1);
      arrive_expecting(full, C::kValueBytes);
      for (int e = 0; e < C::kValueE; e += kChunk)
        copy_box(base_ + C::kV + values_.stage * C::kValueBytes + e * C::kKeys * 2, maps_.v, e,
                 item.kv_head, tile * C::kKeys, item.b, full);
    }
    values_.advance();
  }

  const ForwardMaps& maps_;
  const ForwardSizes& s_;
  const ForwardWorkspace& w_;
  const ForwardBarriers<C> at_;
  const uint32_t base_;
  const bool leads_;
  StageRing<C::kQueryStages> items_;
  StageRing<C::kStages> keys_, values_;
};

// By a warpgroup.
template <typename C>
__device__ void multiply_items(const ForwardMaps& maps, const ForwardSizes& s,
                               const AttentionPlaces& places, uint32_t base, float* lse) {
  ForwardMultiplier<C> m(base, ForwardBarriers<C>(base + C::kBarriers));
  m.rows.scale = s.scale * kLog2OfE;
  if (m.group == C::kGroups - 1) m.end_turn();  // the first warpgroup may begin
  for (;; m.items.advance()) {
    wait_for_phase(m.at.q_full + 8 * m.items.stage, m.items.parity);
    const int ticket = load_shared(base + C::kItems + 4 * m.items.stage);
    if (ticket == ForwardItem<C>::kNone) break;
    const ForwardItem<C> item(ticket & ~ForwardItem<C>::kSeesNothing, s);
    m.rows.find_places(places, s, item, kGroupRows * m.group + 16 * m.warp + m.lane / 4);
    float out[C::kValueE / 2];
    if (ticket & ForwardItem<C>::kSeesNothing) {
      m.rows.begin();
#pragma unroll
      for (float& each : out) each = 0;
    } else {
      m.attend(out, item.token, item.token + ((kGroupRows * (m.group + 1) - 1) >> s.pack_shift));
    }
    m.write(out, maps, s, item, lse);
  }
  if (m.group == 0) m.wait_for_turn();  // so that nobody is left waiting at a barrier
  if (m.thread == 0) wait_until_written();
}

template <typename C>
__global__ void __launch_bounds__(C::kBlockThreads, 1)
    attention_forward_kernel(const __grid_constant__ ForwardMaps maps, const AttentionPlaces places,
                             const __grid_constant__ ForwardSizes sizes,
                             const __grid_constant__ ForwardWorkspace w, float* lse) {
  extern __shared__ __align__(1024) std::byte shared[];
  const uint32_t base = shared_address(shared);
  if (threadIdx.x == 0) {
    ForwardBarriers<C>(base + C::kBarriers).init();
    for (const CUtensorMap* map : {&maps.q, &maps.k, &maps.v, &maps.o}) fetch_tensor_map(*map);
  }
  __syncthreads();
  if (threadIdx.x < kGroupThreads) {
    give_registers<C::kCopyRegisters>();
    if (threadIdx.x < 32) ForwardCopier<C>(maps, sizes, w, base).copy_items(places);
  } else {
    take_registers<C::kRegisters>();
    multiply_items<C>(maps, sizes, places, base, lse);
  }
}

// A warp per tile of keys: its tokens' places, and their range. One also makes the first ticket.
__global__ void key_places_kernel(AttentionPlaces at, ForwardWorkspace w) {
  PlaceRange range;
  for (int i = static_cast<int>(threadIdx.x); i < kForwardKeys; i += 32) {
    const int token = static_cast<int>(blockIdx.x) * kForwardKeys + i;
    const Place place = place_of<false>(at, token);
    w.places[static_cast<int64_t>(blockIdx.z) * w.padded + token] = place;
    if (token < at.seq)
      range = range.with({place.position, place.position, place.document, place.document});
  }
  range = warp_range(range);
  if (threadIdx.x == 0) w.ranges[blockIdx.z * gridDim.x + blockIdx.x] = range;
  if (threadIdx.x == 0 && blockIdx.x == 0 && blockIdx.z == 0) *w.ticket = 0;
}

// Heads whose items alternate: their keys and values stay in the cache.
int heads_together(const AttentionSizes& s, int subgroups) {
  constexpr int64_t kCacheBytes = int64_t{24} << 20;
  const int64_t pair_bytes = s.seq * (s.e + s.value_e) * size_bytes(DType::Bf16);
  const int64_t pairs = std::clamp<int64_t>(kCacheBytes / pair_bytes, 1, s.batch * s.kv_heads);
  return static_cast<int>(pairs) * subgroups;
}

template <typename C>
ForwardSizes sizes_of(const CudaCall& call, const AttentionSizes& s) {
  ForwardSizes sizes{};
  sizes.batch = static_cast<int>(s.batch);
  sizes.seq = static_cast<int>(s.seq);
  sizes.kv_heads = static_cast<int>(s.kv_heads);
  sizes.group = static_cast<int>(s.group);
  sizes.pack = std::min(sizes.group & -sizes.group, 16);
  sizes.pack_shift = std::countr_zero(static_cast<unsigned>(sizes.pack));
  const int subgroups = sizes.group / sizes.pack;
  sizes.query_tiles = static_cast<int>(num_blocks(s.seq, C::kRows / sizes.pack));
  sizes.key_tiles = static_cast<int>(num_blocks(s.seq, C::kKeys));
  sizes.lines = sizes.batch * sizes.kv_heads * subgroups;
  sizes.together = heads_together(s, subgroups);
  sizes.scale = static_cast<float>(attention_scale(call.attributes, s.e));
  return sizes;
}

template <typename C>
void launch_forward(const CudaCall& call, const AttentionSizes& s) {
  const ForwardSizes sizes = sizes_of<C>(call, s);
  const AttentionPlaces places(call, 3, s);
  const ForwardWorkspace w(call.workspace.data(), s);
  if constexpr (C::kPlain)
    check_cuda(cudaMemsetAsync(w.ticket, 0, sizeof(int), call.stream), "clear attention's ticket");
  else
    launch(call,
           Grid{.blocks =
                    dim3(static_cast<unsigned>(sizes.key_tiles), 1, static_cast<unsigned>(s.batch)),
                .threads = 32},
           key_places_kernel, places, w);
  const int64_t heads = s.kv_heads * s.group;
  const auto rows_map = [&](const std::byte* data, int64_t e, int rows) {
    return make_tensor_map(data, {e, heads, s.seq, s.batch}, {sizes.pack, rows / sizes.pack, 1});
  };
  const auto keys_map = [&](size_t operand, int64_t e) {
    return make_tensor_map(call.operand(operand).data, {e, s.kv_heads, s.seq, s.batch},
                           {1, C::kKeys, 1});
  };
  const ForwardMaps maps{rows_map(call.operand(0).data, C::kE, C::kRows), keys_map(1, C::kE),
                         keys_map(2, C::kValueE),
                         rows_map(call.result(0).data, C::kValueE, kGroupRows)};
  const auto kernel = attention_forward_kernel<C>;
  allow_shared_bytes(kernel, C::kSharedBytes);
  const int blocks = std::min(multiprocessors(), sizes.lines * sizes.query_tiles);
  launch(call,
         Grid{.blocks = static_cast<unsigned>(blocks),
              .threads = C::kBlockThreads,
              .shared_bytes = C::kSharedBytes},
         kernel, maps, places, sizes, w, call.result(1).as<float>());
}

template <int kE, int kValueE>
void enqueue_forward(const CudaCall& call, const AttentionSizes& s) {
  return call.plain_causal ? launch_forward<ForwardConfig<kE, kValueE, true>>(call, s)
                           : launch_forward<ForwardConfig<kE, kValueE, false>>(call, s);
}

}  // namespace

bool hopper_takes_attention(const TensorType& q, const TensorType& v, double scale) {
  const AttentionSizes s(q, v);
  const bool fits =
      (s.e == s.value_e && (s.e == 64 || s.e == 128)) || (s.e == 192 && s.value_e == 128);
  return q.dtype == DType::Bf16 && fits && scale > 0 &&
         s.batch * s.kv_heads * s.rows() < (int64_t{1} << 30) && is_hopper();
}

int64_t hopper_attention_bytes(const AttentionSizes& sizes) {
  return ForwardWorkspace(nullptr, sizes).bytes;
}

void enqueue_hopper_attention(const CudaCall& call) {
  const AttentionSizes s(*call.operand(0).type, *call.operand(2).type);
  TESSERA_CHECK(static_cast<int64_t>(call.workspace.size()) >= hopper_attention_bytes(s));
  if (s.e == 64) return enqueue_forward<64, 64>(call, s);
  return s.e == 128 ? enqueue_forward<128, 128>(call, s) : enqueue_forward<192, 128>(call, s);
}

}  // namespace tessera
