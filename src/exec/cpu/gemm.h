// SPDX-License-Identifier: Apache-2.0
// C = A B, or C += A B, over the threads of a pool. The work is split over rows and columns of C,
// never over k, and every element is summed in an order that depends on k alone: the same bits for
// any number of threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "exec/cpu/gemm_kernels.h"
#include "exec/cpu/thread_pool.h"

namespace tessera {

// A rectangle of C.
struct Tile {
  int64_t first_row, last_row, first_column, last_column;  // last: one past
};

// Called by whoever finished a tile of C, while it is still in that core's cache.
class TileDone {
 public:
  virtual void operator()(const Tile& tile) const = 0;

 protected:
  ~TileDone() = default;
};

// Sums are kept in float (double for double) also where C is bf16.
template <typename A, typename B, typename C>
struct Gemm {
  int64_t m, n, k;
  Matrix<A> a;  // [m, k]
  Matrix<B> b;  // [k, n]
  C* c;         // [m, n], row-major
  int64_t c_stride;
  bool accumulate = false;
  const TileDone* tile_done = nullptr;
};

// For double throughout, and for A, B and C each one of float and Bf16. `workspace` has
// gemm_workspace_bytes().
template <typename A, typename B, typename C>
void gemm(const Gemm<A, B, C>& product, ThreadPool& threads, std::span<std::byte> workspace);

}  // namespace tessera
