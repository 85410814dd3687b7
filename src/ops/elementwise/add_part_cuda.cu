// SPDX-License-Identifier: Apache-2.0
// A thread per N elements of the result. In place is allowed: a thread writes what it has read.
#include "exec/cuda/elements.h"
#include "exec/tensor_parts.h"

namespace tessera {
namespace {

// Of a tensor with the dim: rows of `row` elements outside it, in each of which the part is `inner`
// elements from `begin` on.
struct PartOfRows {
  int64_t rows, row, begin, inner;

  PartOfRows(const TensorType& whole, const Attributes& attributes) {
    const auto dim = static_cast<size_t>(whole.index_of(attributes.word("dim")));
    const Parts parts = parts_along(whole, dim, whole.dims[dim].size);
    rows = parts.outer;
    row = parts.outer_stride;
    inner = parts.inner;
    begin = attributes.integer("index") * parts.part_stride;
  }
};

template <int N, typename T>
__global__ void add_part_kernel(PartOfRows s, const T* y, const T* u, T* sum) {
  const int64_t packs = s.row / N, i = first_index(), row = i / packs, c = i % packs * N;
  if (row >= s.rows) return;
  Elements<T, N> all = load_elements<N>(y + i * N);
  if (c >= s.begin && c < s.begin + s.inner) {
    const Elements<T, N> more = load_elements<N>(u + row * s.inner + c - s.begin);
    for (int j = 0; j < N; ++j)
      all.values[j] = narrow<T>(widen(all.values[j]) + widen(more.values[j]));
  }
  store_elements(sum + i * N, all);
}

template <int N, typename T>
__global__ void take_part_kernel(PartOfRows s, const T* y, T* u) {
  const int64_t packs = s.inner / N, i = first_index(), row = i / packs, c = i % packs * N;
  if (row >= s.rows) return;
  store_elements(u + i * N, load_elements<N>(y + row * s.row + s.begin + c));
}

template <int N>
Grid part_grid(int64_t elements) {
  return {.blocks = blocks_for(elements / N, kThreads), .threads = kThreads};
}

template <int N, typename T>
void run_add_part(const CudaCall& call, const PartOfRows& s) {
  launch(call, part_grid<N>(s.rows * s.row), add_part_kernel<N, T>, s,
         static_cast<const T*>(call.operand(0).as<T>()),
         static_cast<const T*>(call.operand(1).as<T>()), call.result(0).as<T>());
}

template <int N, typename T>
void run_take_part(const CudaCall& call, const PartOfRows& s) {
  launch(call, part_grid<N>(s.rows * s.inner), take_part_kernel<N, T>, s,
         static_cast<const T*>(call.operand(0).as<T>()), call.result(0).as<T>());
}

// A part that is no multiple of 16 bytes is moved element by element.
template <typename T>
bool part_in_packs(const PartOfRows& s) {
  return s.inner % kElements<T> == 0;
}

}  // namespace

void add_part_cuda(const CudaCall& call) {
  const PartOfRows s(*call.result(0).type, call.attributes);
  dispatch_float(call.result(0).type->dtype, [&]<typename T>() {
    part_in_packs<T>(s) ? run_add_part<kElements<T>, T>(call, s) : run_add_part<1, T>(call, s);
  });
}

void take_part_cuda(const CudaCall& call) {
  const PartOfRows s(*call.operand(0).type, call.attributes);
  dispatch_float(call.result(0).type->dtype, [&]<typename T>() {
    part_in_packs<T>(s) ? run_take_part<kElements<T>, T>(call, s) : run_take_part<1, T>(call, s);
  });
}

}  // namespace tessera
