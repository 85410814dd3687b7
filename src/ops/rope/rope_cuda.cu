// SPDX-License-Identifier: Apache-2.0
// Angles are computed in double, once for all heads of a position.
#include <cmath>

#include "ops/largest_entry_cuda.h"
#include "ops/rope/frequency.h"

namespace tessera {
namespace {

constexpr int64_t kMostPairs = 256;
constexpr int kTokens = 8;

struct Rotation {
  double frequencies[kMostPairs];
  double direction;
  int64_t tokens;
  int heads, half;
};

__device__ inline void turn(double angle, double& sine, double& cosine) {
  sincos(angle, &sine, &cosine);
}
// Full turns are subtracted in double; the remainder is small enough for float.
__device__ inline void turn(double angle, float& sine, float& cosine) {
  const double turns = angle * 0.15915494309189533577;  // 1 / (2 pi)
  sincospif(static_cast<float>(2 * (turns - rint(turns))), &sine, &cosine);
}

// N pairs of one head: their places, and how they turn.
template <int N, typename T>
struct Pairs {
  int64_t at;
  int angle;
  Elements<T, N> a, b;

  __device__ void load(const Rotation& r, int64_t first_token, int i, const T* x) {
    const int packs = r.half / N, head = i / packs, pair = (i - head * packs) * N;
    at = (first_token * r.heads + head) * 2 * r.half + pair;
    angle = head / r.heads * r.half + pair;
    a = load_elements<N>(x + at);
    b = load_elements<N>(x + at + r.half);
  }
  // Gives the largest |entry| of those that it stores.
  __device__ float turn_and_store(const Rotation& r, const Accumulator<T>* cosines,
                                  const Accumulator<T>* sines, T* y) {
    Accumulator<T> first[N], second[N];
    for (int j = 0; j < N; ++j) {
      const Accumulator<T> c = cosines[angle + j], s = sines[angle + j];
      const Accumulator<T> from = widen(a.values[j]), to = widen(b.values[j]);
      first[j] = from * c - to * s;
      second[j] = to * c + from * s;
    }
    const Elements<T, N> turned_a = narrow_all<T>(first), turned_b = narrow_all<T>(second);
    store_elements(y + at, turned_a);
    store_elements(y + at + r.half, turned_b);
    return larger_entry(larger_entry(0, turned_a), turned_b);
  }
};

// A block has kTokens positions: their sines and cosines, one per thread, then all heads, N pairs
// per thread. The first pairs are loaded while angles are computed.
template <int N, typename T>
__global__ void __launch_bounds__(kThreads)
    rope_kernel(const __grid_constant__ Rotation r, const int32_t* positions, const T* x, T* y,
                float* largest) {
  using A = Accumulator<T>;
  extern __shared__ __align__(16) unsigned char shared_bytes[];
  A* cosines = reinterpret_cast<A*>(shared_bytes);
  A* sines = cosines + kTokens * r.half;
  const int64_t first = static_cast<int64_t>(blockIdx.x) * kTokens;
  const int tokens = static_cast<int>(min(r.tokens - first, static_cast<int64_t>(kTokens)));
  const int thread = threadIdx.x, count = tokens * r.heads * (r.half / N);
  constexpr int kAhead = 2;
  Pairs<N, T> pairs[kAhead];
#pragma unroll
  for (int p = 0; p < kAhead; ++p)
    if (thread + p * kThreads < count) pairs[p].load(r, first, thread + p * kThreads, x);
  for (int i = thread; i < tokens * r.half; i += kThreads) {
    A sine, cosine;
    turn(positions[first + i / r.half] * r.frequencies[i % r.half], sine, cosine);
    cosines[i] = cosine;
    sines[i] = sine * static_cast<A>(r.direction);
  }
  __syncthreads();
  float own = 0;
#pragma unroll
  for (int p = 0; p < kAhead; ++p)
    if (thread + p * kThreads < count)
      own = fmaxf(own, pairs[p].turn_and_store(r, cosines, sines, y));
#pragma unroll 2
  for (int i = thread + kAhead * kThreads; i < count; i += kThreads) {
    Pairs<N, T> next;
    next.load(r, first, i, x);
    own = fmaxf(own, next.turn_and_store(r, cosines, sines, y));
  }
  if (largest) raise_largest_entry(own, largest);
}

template <int N, typename T>
void run_rope(const CudaCall& call, const Rotation& rotation) {
  const TensorRef largest = call.result(1);
  if (largest) clear_largest_entry(call, largest);
  launch(call,
         {.blocks = blocks_for(rotation.tokens, kTokens),
          .threads = kThreads,
          .shared_bytes = 2 * kTokens * rotation.half * sizeof(Accumulator<T>)},
         rope_kernel<N, T>, rotation, static_cast<const int32_t*>(call.operand(1).as<int32_t>()),
         static_cast<const T*>(call.operand(0).as<T>()), call.result(0).as<T>(),
         largest ? largest.as<float>() : nullptr);
}

}  // namespace

void rope_cuda(const CudaCall& call) {
  const TensorType& type = *call.operand(0).type;
  const int64_t tokens = call.operand(1).type->num_elements(), half = type.dims.back().size / 2;
  if (half > kMostPairs)
    throw user_error("rope on a GPU rotates {} pairs at most, not {}", kMostPairs, half)
        .help("use --device cpu");
  Rotation rotation{.frequencies = {},
                    .direction = call.attributes.integer("inverse") ? -1.0 : 1.0,
                    .tokens = tokens,
                    .heads = static_cast<int>(type.num_elements() / tokens / (2 * half)),
                    .half = static_cast<int>(half)};
  for (int64_t i = 0; i < half; ++i)
    rotation.frequencies[i] = frequency_of_pair(call.attributes, i, half);
  dispatch_float(type.dtype, [&]<typename T>() {
    if (half % kElements<T> == 0)
      run_rope<kElements<T>, T>(call, rotation);
    else
      run_rope<1, T>(call, rotation);
  });
}

}  // namespace tessera
