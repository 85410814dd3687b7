// SPDX-License-Identifier: Apache-2.0
// A thread per N elements of z, and in the gradient of dx and of dy, whose sums are in order.
#include "exec/cuda/elements.h"
#include "ops/elementwise/concat.h"

namespace tessera {
namespace {

template <int N, typename T>
__global__ void concat_kernel(ConcatSizes s, const T* x, const T* y, T* z) {
  const int64_t packs = s.cols / N, i = first_index(), row = i / packs, c = i % packs * N;
  if (row >= s.rows) return;
  const T* from =
      c < s.x_cols ? x + row * s.x_cols + c : y + row / s.repeats * s.y_cols + c - s.x_cols;
  store_elements(z + i * N, load_elements<N>(from));
}

template <int N, typename T>
__global__ void first_part_kernel(ConcatSizes s, const T* dz, T* dx) {
  const int64_t packs = s.x_cols / N, i = first_index(), row = i / packs, c = i % packs * N;
  if (row >= s.rows) return;
  store_elements(dx + i * N, load_elements<N>(dz + row * s.cols + c));
}

template <int N, typename T>
__global__ void second_part_kernel(ConcatSizes s, const T* dz, T* dy) {
  const int64_t packs = s.y_cols / N, i = first_index(), row = i / packs, c = i % packs * N;
  if (row >= s.outer) return;
  const T* from = dz + row * s.repeats * s.cols + s.x_cols + c;
  Accumulator<T> sums[N] = {};
#pragma unroll 8
  for (int64_t repeat = 0; repeat < s.repeats; ++repeat) {
    const Elements<T, N> part = load_elements<N>(from + repeat * s.cols);
    for (int j = 0; j < N; ++j) sums[j] += widen(part.values[j]);
  }
  store_elements(dy + i * N, narrow_all<T>(sums));
}

template <int N>
Grid grid_of(int64_t elements) {
  return {.blocks = blocks_for(elements / N, kThreads), .threads = kThreads};
}

template <int N, typename T>
void run_concat(const CudaCall& call, const ConcatSizes& s) {
  launch(call, grid_of<N>(s.rows * s.cols), concat_kernel<N, T>, s,
         static_cast<const T*>(call.operand(0).as<T>()),
         static_cast<const T*>(call.operand(1).as<T>()), call.result(0).as<T>());
}

template <int N, typename T>
void run_concat_grad(const CudaCall& call, const ConcatSizes& s) {
  const T* dz = call.operand(0).as<T>();
  launch(call, grid_of<N>(s.rows * s.x_cols), first_part_kernel<N, T>, s, dz,
         call.result(0).as<T>());
  launch(call, grid_of<N>(s.outer * s.y_cols), second_part_kernel<N, T>, s, dz,
         call.result(1).as<T>());
}

// Parts that are no multiples of 16 bytes are moved element by element.
template <typename T>
bool in_packs(const ConcatSizes& s) {
  return s.x_cols % kElements<T> == 0 && s.y_cols % kElements<T> == 0;
}

}  // namespace

void concat_cuda(const CudaCall& call) {
  const ConcatSizes s(*call.operand(0).type, *call.operand(1).type);
  dispatch_float(call.result(0).type->dtype, [&]<typename T>() {
    in_packs<T>(s) ? run_concat<kElements<T>, T>(call, s) : run_concat<1, T>(call, s);
  });
}

void concat_grad_cuda(const CudaCall& call) {
  const ConcatSizes s(*call.result(0).type, *call.result(1).type);
  dispatch_float(call.operand(0).type->dtype, [&]<typename T>() {
    in_packs<T>(s) ? run_concat_grad<kElements<T>, T>(call, s) : run_concat_grad<1, T>(call, s);
  });
}

}  // namespace tessera
