// SPDX-License-Identifier: Apache-2.0
// Angles are computed in double once per position, for all heads.
#define HWY_TARGET_INCLUDE "ops/rope/rope_cpu.cpp"
#include "exec/cpu/cpu_call.h"
#include "exec/cpu/each_target.h"
#include "exec/cpu/lanes.h"
#include "ops/largest_entry_cpu.h"
#include "ops/rope/frequency.h"
#include "ops/rope/sincos_cpu.h"
#include "ops/row_ranges.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::HWY_NAMESPACE {
namespace {

struct Rotation {
  const double* frequencies;
  double direction;
  int64_t heads, half;
};

// The heads of one position, in blocks of pairs whose sines and cosines fit the stack.
template <typename T>
void rotate_heads(const Rotation& rotation, double position, const T* x, T* y) {
  using A = Accumulator<T>;
  constexpr int64_t kBlock = 64;
  A sine[kBlock], cosine[kBlock];
  for (int64_t first = 0; first < rotation.half; first += kBlock) {
    const int64_t pairs = std::min(kBlock, rotation.half - first);
    for (int64_t i = 0; i < pairs; ++i) {
      const SinCos angle = fast_sincos(position * rotation.frequencies[first + i]);
      sine[i] = static_cast<A>(angle.sine * rotation.direction);
      cosine[i] = static_cast<A>(angle.cosine);
    }
    for (int64_t head = 0; head < rotation.heads; ++head) {
      const int64_t at = head * 2 * rotation.half + first;
      const T *x1 = x + at, *x2 = x1 + rotation.half;
      T *y1 = y + at, *y2 = y1 + rotation.half;
#pragma GCC ivdep
      for (int64_t i = 0; i < pairs; ++i) {
        const A a = load(x1[i]), b = load(x2[i]);
        y1[i] = store<T>(a * cosine[i] - b * sine[i]);
        y2[i] = store<T>(b * cosine[i] + a * sine[i]);
      }
    }
  }
}

}  // namespace

void rope_cpu(const CpuCall& call) {
  const TensorType& type = *call.operand(0).type;
  const int32_t* positions = call.operand(1).as<int32_t>();
  const int64_t tokens = call.operand(1).type->num_elements();
  const int64_t half = type.dims.back().size / 2, cols = type.num_elements() / tokens;
  double* frequencies = reinterpret_cast<double*>(call.workspace.data());
  for (int64_t i = 0; i < half; ++i) frequencies[i] = frequency_of_pair(call.attributes, i, half);
  const Rotation rotation{.frequencies = frequencies,
                          .direction = call.attributes.integer("inverse") ? -1.0 : 1.0,
                          .heads = cols / (2 * half),
                          .half = half};
  dispatch_float(type.dtype, [&]<typename T>() {
    const T* x = call.operand(0).as<T>();
    T* y = call.result(0).as<T>();
    run_rows(call.threads, tokens, cols, [&](int64_t begin, int64_t end) {
      for (int64_t token = begin; token < end; ++token)
        rotate_heads(rotation, positions[token], x + token * cols, y + token * cols);
    });
    if (const TensorRef largest = call.result(1))
      *largest.as<float>() = largest_entry<T>(y, tokens * cols, call.threads);
  });
}

}  // namespace tessera::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera {
TESSERA_KERNEL(rope_cpu)
}  // namespace tessera
#endif
