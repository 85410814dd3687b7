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

// Products of groups whose sizes are known when the kernel runs: group i has the rows
// [ends[i - 1], ends[i]) of a packed matrix. Rows: of A and C; each group has its own B. Depth: of
// A and B, which are summed over; each group has its own C. Bits are those of a product for each
// group.
enum class Ragged : uint8_t { Rows, Depth };

template <typename A, typename B, typename C>
struct GroupedGemm {
  Gemm<A, B, C> first;  // of group 0; the ragged size is that of all rows
  Ragged ragged;
  int64_t groups;
  const int32_t* ends;
};

// `workspace` has grouped_gemm_workspace_bytes() of the sizes in `first`.
template <typename A, typename B, typename C>
void grouped_gemm(const GroupedGemm<A, B, C>& product, ThreadPool& threads,
                  std::span<std::byte> workspace);

}  // namespace tessera
