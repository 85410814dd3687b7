// SPDX-License-Identifier: Apache-2.0
// A warp per row. A side with lse = -inf has weight 0 and leaves the other one's bits.
#include "exec/cuda/kernel_launch.h"

namespace tessera {
namespace {

// Results may overlap the first two operands: lse is read by all lanes before one writes it.
template <typename T>
__global__ void merge_kernel(const T* x, const Accumulator<T>* x_lse, const T* y,
                             const Accumulator<T>* y_lse, T* out, Accumulator<T>* lse, int64_t rows,
                             int64_t e) {
  using S = Accumulator<T>;
  const int64_t row = first_index() / 32;
  if (row >= rows) return;
  const S a = x_lse[row], b = y_lse[row], larger = a > b ? a : b;
  const bool sees = larger > -static_cast<S>(INFINITY);
  const S x_part = sees ? exp(a - larger) : S{0}, y_part = sees ? exp(b - larger) : S{0};
  const S sum = sees ? x_part + y_part : S{1};
  for (int64_t i = threadIdx.x % 32; i < e; i += 32)
    out[row * e + i] =
        narrow<T>(x_part / sum * widen(x[row * e + i]) + y_part / sum * widen(y[row * e + i]));
  __syncwarp();
  if (threadIdx.x % 32 == 0) lse[row] = larger + log(sum);
}

}  // namespace

void merge_attention_cuda(const CudaCall& call) {
  const int64_t rows = call.operand(1).type->num_elements();
  const int64_t e = call.operand(0).type->dims.back().size;
  dispatch_float(call.operand(0).type->dtype, [&]<typename T>() {
    using S = Accumulator<T>;
    launch(call, {.blocks = blocks_for(rows, kThreads / 32), .threads = kThreads}, merge_kernel<T>,
           static_cast<const T*>(call.operand(0).as<T>()),
           static_cast<const S*>(call.operand(1).as<S>()),
           static_cast<const T*>(call.operand(2).as<T>()),
           static_cast<const S*>(call.operand(3).as<S>()), call.result(0).as<T>(),
           call.result(1).as<S>(), rows, e);
  });
}

}  // namespace tessera
