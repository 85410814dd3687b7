// SPDX-License-Identifier: Apache-2.0
// A block per query and head: each warp goes over every kWarps-th key with a running softmax, then
// the warps' parts are merged in their order. Bits repeat.
#include "exec/cuda/kernel_launch.h"
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

}  // namespace

void cached_attention_cuda(const CudaCall& call) {
  const AttentionSizes sizes(*call.operand(0).type, *call.operand(2).type);
  const CacheSizes s{sizes.seq,      call.operand(1).type->dims[1].size,
                     sizes.kv_heads, sizes.group,
                     sizes.e,        sizes.value_e};
  TESSERA_CHECK(s.e <= kMostSize && s.value_e <= kMostSize, "heads of {} and {}", s.e, s.value_e);
  const int64_t rows = sizes.batch * s.seq * s.kv_heads * s.group;
  dispatch_float(call.operand(0).type->dtype, [&]<typename T>() {
    launch(call, {.blocks = static_cast<unsigned>(rows), .threads = 32 * kWarps},
           cached_attention_kernel<T>, static_cast<const T*>(call.operand(0).as<T>()),
           static_cast<const T*>(call.operand(1).as<T>()),
           static_cast<const T*>(call.operand(2).as<T>()),
           static_cast<const int32_t*>(call.operand(3).as<int32_t>()), call.result(0).as<T>(), s,
           attention_scale(call.attributes, s.e));
  });
}

}  // namespace tessera
