// SPDX-License-Identifier: Apache-2.0
// A thread has one pair of one position and turns it in every head. Angles are taken in double.
#include <cmath>

#include "exec/cuda/kernel_launch.h"
#include "ops/rope/frequency.h"

namespace tessera {
namespace {

constexpr int64_t kMostPairs = 256;

struct Rotation {
  double frequencies[kMostPairs];
  double direction;
  int64_t tokens, heads, half;
};

template <typename T>
__global__ void rope_kernel(const __grid_constant__ Rotation r, const int32_t* positions,
                            const T* x, T* y) {
  using A = Accumulator<T>;
  for (int64_t i = first_index(); i < r.tokens * r.half; i += index_stride()) {
    const int64_t token = i / r.half, pair = i % r.half;
    double sine, cosine;
    sincos(positions[token] * r.frequencies[pair], &sine, &cosine);
    const A s = static_cast<A>(sine * r.direction), c = static_cast<A>(cosine);
    for (int64_t head = 0; head < r.heads; ++head) {
      const int64_t at = (token * r.heads + head) * 2 * r.half + pair;
      const A a = widen(x[at]), b = widen(x[at + r.half]);
      y[at] = narrow<T>(a * c - b * s);
      y[at + r.half] = narrow<T>(b * c + a * s);
    }
  }
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
                    .heads = type.num_elements() / tokens / (2 * half),
                    .half = half};
  for (int64_t i = 0; i < half; ++i)
    rotation.frequencies[i] = frequency_of_pair(call.attributes, i, half);
  dispatch_float(type.dtype, [&]<typename T>() {
    launch(call, grid_for(tokens * half), rope_kernel<T>, rotation,
           static_cast<const int32_t*>(call.operand(1).as<int32_t>()),
           static_cast<const T*>(call.operand(0).as<T>()), call.result(0).as<T>());
  });
}

}  // namespace tessera
