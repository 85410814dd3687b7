// SPDX-License-Identifier: Apache-2.0
// A block per query and head: each warp goes over every kWarps-th key with a running softmax, then
// the warps' parts are merged in their order. Where heads are whole packs of a few lanes, a cluster
// of blocks shares the keys, and a warp has several of them under way. Bits repeat.
#include "exec/cuda/block_cluster.h"
#include "exec/cuda/elements.h"
#include "ops/attention/attention.h"

namespace tessera {
namespace {

constexpr int kWarps = 8, kMostSize = 256, kPerLane = kMostSize / 32;

struct CacheSizes {
  int64_t seq, cached, kv_heads, group, e, value_e;
};

template <typename T>
__global__ void cached_attention_kernel(const T* q, const T* keys, const T* values,
                                        const int32_t* positions, T* o, CacheSizes s,
                                        double scale) {
  using S = Accumulator<T>;
  __shared__ S largest[kWarps], sums[kWarps], parts[kWarps][kMostSize];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int64_t row = blockIdx.x, query = row / (s.kv_heads * s.group);
  const int64_t head = row / s.group % s.kv_heads, first = query / s.seq * s.cached;
  const int64_t position = positions[query];
  const int64_t seen = position < 0 ? 0 : position < s.cached ? position + 1 : s.cached;
  S own[kPerLane], sum_of_values[kPerLane] = {};
  for (int i = 0; i < kPerLane; ++i) {
    const int64_t c = lane + 32 * i;
    own[i] = c < s.e ? widen(q[row * s.e + c]) * static_cast<S>(scale) : S{0};
  }
  S max = -static_cast<S>(INFINITY), sum = 0;
  for (int64_t j = warp; j < seen; j += kWarps) {
    const int64_t at = (first + j) * s.kv_heads + head;
    S score = 0;
    for (int i = 0; i < kPerLane; ++i)
      if (lane + 32 * i < s.e) score += own[i] * widen(keys[at * s.e + lane + 32 * i]);
    score = warp_sum(score);
    const S larger = score > max ? score : max;
    const S kept = exp(max - larger), weight = exp(score - larger);
    sum = sum * kept + weight;
    for (int i = 0; i < kPerLane; ++i)
      if (lane + 32 * i < s.value_e)
        sum_of_values[i] =
            sum_of_values[i] * kept + weight * widen(values[at * s.value_e + lane + 32 * i]);
    max = larger;
  }
  for (int i = 0; i < kPerLane; ++i) parts[warp][lane + 32 * i] = sum_of_values[i];
  if (lane == 0) largest[warp] = max, sums[warp] = sum;
  __syncthreads();
  S whole_max = largest[0];
  for (int w = 1; w < kWarps; ++w) whole_max = largest[w] > whole_max ? largest[w] : whole_max;
  for (int64_t c = threadIdx.x; c < s.value_e; c += blockDim.x) {
    S value = 0, whole = 0;
    for (int w = 0; w < kWarps; ++w) {
      if (sums[w] == 0) continue;  // it saw no key
      const S weight = exp(largest[w] - whole_max);
      value += weight * parts[w][c];
      whole += weight * sums[w];
    }
    o[row * s.value_e + c] = narrow<T>(whole > 0 ? value / whole : S{0});
  }
}

// A running softmax over some keys: the largest score, the weights' sum, and pieces of the result.
template <int N>
struct RunningSums {
  float max = -INFINITY, sum = 0, values[N] = {};

  __device__ void fade_to(float larger) {
    const float kept = max == -INFINITY ? 0 : expf(max - larger);
    max = larger;
    sum *= kept;
#pragma unroll
    for (float& value : values) value *= kept;
  }
};

// kLanes lanes have a key, kUnroll keys at once.
template <typename T, int kLanes>
struct KeyGroup {
  static constexpr int N = kElements<T>, kKeys = 32 / kLanes, kUnroll = 4;
  static constexpr int kE = kLanes * N, kParts = kWarps * kKeys;

  int lane = static_cast<int>(threadIdx.x % kLanes),
      key = static_cast<int>(threadIdx.x % 32 / kLanes);
  float query[N];

  __device__ KeyGroup(const T* q, double scale) {
    const Pack<T> pack = load_elements<N>(q + lane * N);
#pragma unroll
    for (int i = 0; i < N; ++i) query[i] = widen(pack.values[i]) * static_cast<float>(scale);
  }
  __device__ float score(const Pack<T>& pack) const {
    float sum = 0;
#pragma unroll
    for (int i = 0; i < N; ++i) sum += query[i] * widen(pack.values[i]);
#pragma unroll
    for (int distance = kLanes / 2; distance > 0; distance /= 2)
      sum += __shfl_xor_sync(0xffffffffu, sum, distance);
    return sum;
  }
  // Keys [first, end) in steps of a warp's; `stride` from a key to the next one.
  __device__ void absorb(RunningSums<N>& sums, const T* keys, const T* values, int64_t stride,
                         int64_t first, int64_t end) const {
    Pack<T> k[kUnroll] = {}, v[kUnroll] = {};
    float scores[kUnroll], larger = sums.max;
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      const int64_t j = first + u * kKeys + key;
      if (j >= end) continue;
      k[u] = load_elements<N>(keys + j * stride + lane * N);
      v[u] = load_elements<N>(values + j * stride + lane * N);
    }
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      const float found = score(k[u]);
      scores[u] = first + u * kKeys + key < end ? found : -INFINITY;
      larger = fmaxf(larger, scores[u]);
    }
    if (larger == -INFINITY) return;
    sums.fade_to(larger);
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      const float weight = expf(scores[u] - larger);
      sums.sum += weight;
#pragma unroll
      for (int i = 0; i < N; ++i) sums.values[i] += weight * widen(v[u].values[i]);
    }
  }
};

// Parts of a result, merged in their order.
struct MergedParts {
  float max, sum, value;

  __device__ void add(float other_max, float other_sum, float other_value) {
    if (other_sum == 0) return;  // it saw no key
    const float larger = fmaxf(max, other_max);
    const float kept = sum == 0 ? 0 : expf(max - larger), weight = expf(other_max - larger);
    sum = sum * kept + other_sum * weight;
    value = value * kept + other_value * weight;
    max = larger;
  }
};

// A row of blocks in a cluster has a query of one head.
template <typename T, int kLanes>
__global__ void __launch_bounds__(32 * kWarps)
    shared_keys_kernel(const T* q, const T* keys, const T* values, const int32_t* positions, T* o,
                       CacheSizes s, double scale) {
  using Group = KeyGroup<T, kLanes>;
  constexpr int kE = Group::kE, kParts = Group::kParts, kStep = Group::kKeys * Group::kUnroll;
  __shared__ float parts[kParts][kE], part_max[kParts], part_sum[kParts];
  __shared__ float block_values[kE], block_max[kE], block_sum[kE];
  const BlockCluster cluster;
  const int64_t row = blockIdx.y, query = row / (s.kv_heads * s.group);
  const int64_t head = row / s.group % s.kv_heads, first = query / s.seq * s.cached;
  const int64_t position = positions[query];
  const int64_t seen = position < 0 ? 0 : position < s.cached ? position + 1 : s.cached;
  const int64_t share = (seen + cluster.blocks() - 1) / cluster.blocks();
  const int64_t begin = share * cluster.block(), end = min(begin + share, seen);
  const Group group(q + row * kE, scale);
  RunningSums<Group::N> sums;
  const int64_t stride = s.kv_heads * kE, offset = (first * s.kv_heads + head) * kE;
  const int warp = static_cast<int>(threadIdx.x / 32);
  for (int64_t j = begin + warp * kStep; j < end; j += kWarps * kStep)
    group.absorb(sums, keys + offset, values + offset, stride, j, end);
  const int own = warp * Group::kKeys + group.key;
#pragma unroll
  for (int i = 0; i < Group::N; ++i) parts[own][group.lane * Group::N + i] = sums.values[i];
  if (group.lane == 0) part_max[own] = sums.max, part_sum[own] = sums.sum;
  __syncthreads();
  for (int c = threadIdx.x; c < kE; c += blockDim.x) {
    MergedParts merged{-INFINITY, 0, 0};
    for (int part = 0; part < kParts; ++part)
      merged.add(part_max[part], part_sum[part], parts[part][c]);
    block_max[c] = merged.max, block_sum[c] = merged.sum, block_values[c] = merged.value;
  }
  cluster.sync();
  if (cluster.block() == 0)
    for (int c = threadIdx.x; c < kE; c += blockDim.x) {
      MergedParts merged{-INFINITY, 0, 0};
      for (int block = 0; block < cluster.blocks(); ++block)
        merged.add(cluster.read(block_max[c], block), cluster.read(block_sum[c], block),
                   cluster.read(block_values[c], block));
      o[row * kE + c] = narrow<T>(merged.sum > 0 ? merged.value / merged.sum : 0.0f);
    }
  cluster.sync();  // nobody ends before its parts have been read
}

// Of a few queries, blocks for every multiprocessor.
unsigned blocks_of_row(int64_t rows, int64_t cached) {
  constexpr unsigned kMost = 8;
  constexpr int64_t kWanted = 264, kLeastKeys = 128;
  unsigned blocks = 1;
  while (blocks < kMost && rows * blocks < kWanted && cached / (2 * blocks) >= kLeastKeys)
    blocks *= 2;
  return blocks;
}

template <typename T, int kLanes>
void share_keys(const CudaCall& call, const CacheSizes& s, int64_t rows) {
  const unsigned blocks = blocks_of_row(rows, s.cached);
  launch_clusters(
      call.stream, {.blocks = dim3(blocks, static_cast<unsigned>(rows)), .threads = 32 * kWarps},
      blocks, shared_keys_kernel<T, kLanes>, static_cast<const T*>(call.operand(0).as<T>()),
      static_cast<const T*>(call.operand(1).as<T>()),
      static_cast<const T*>(call.operand(2).as<T>()),
      static_cast<const int32_t*>(call.operand(3).as<int32_t>()), call.result(0).as<T>(), s,
      attention_scale(call.attributes, s.e));
}

// Whether lanes of a warp share heads of this size.
template <typename T>
bool try_to_share_keys(const CudaCall& call, const CacheSizes& s, int64_t rows) {
  constexpr int64_t N = kElements<T>;
  if (s.e != s.value_e || rows > 65535) return false;
  if (s.e == 8 * N) return share_keys<T, 8>(call, s, rows), true;
  if (s.e == 16 * N) return share_keys<T, 16>(call, s, rows), true;
  if (s.e == 32 * N) return share_keys<T, 32>(call, s, rows), true;
  return false;
}

}  // namespace

void cached_attention_cuda(const CudaCall& call) {
  const AttentionSizes sizes(*call.operand(0).type, *call.operand(2).type);
  const CacheSizes s{sizes.seq,      call.operand(1).type->dims[1].size,
                     sizes.kv_heads, sizes.group,
                     sizes.e,        sizes.value_e};
  TESSERA_CHECK(s.e <= kMostSize && s.value_e <= kMostSize, "heads of {} and {}", s.e, s.value_e);
  const int64_t rows = sizes.batch * s.seq * s.kv_heads * s.group;
  const DType dtype = call.operand(0).type->dtype;
  if (dtype == DType::Bf16 && try_to_share_keys<Bf16>(call, s, rows)) return;
  if (dtype == DType::Fp32 && try_to_share_keys<float>(call, s, rows)) return;
  dispatch_float(dtype, [&]<typename T>() {
    launch(call, {.blocks = static_cast<unsigned>(rows), .threads = 32 * kWarps},
           cached_attention_kernel<T>, static_cast<const T*>(call.operand(0).as<T>()),
           static_cast<const T*>(call.operand(1).as<T>()),
           static_cast<const T*>(call.operand(2).as<T>()),
           static_cast<const int32_t*>(call.operand(3).as<int32_t>()), call.result(0).as<T>(), s,
           attention_scale(call.attributes, s.e));
  });
}

}  // namespace tessera
