// SPDX-License-Identifier: Apache-2.0
// The inner part of a matrix product: strips of up to 6 rows of A times packed panels of B, and the
// packing. Every element of C is one chain of multiply-adds in the order of k, whatever the strip
// or panel it falls into; so tiling never changes bits. Each call runs the version of the
// instruction set that the process uses.
#pragma once

#include <cstdint>

#include "core/dtype.h"
#include "ops/matmul/gemm_blocking.h"

namespace tessera {

template <typename S>
inline constexpr int64_t kPanelColumns = kPanelBytes / sizeof(S);

// C[rows, columns] = or += A[rows, k] B[k, columns]. B is packed: panel after panel, each of
// kPanelColumns, the last one padded.
template <typename S>
struct Strip {
  int64_t rows, columns, k;
  const S* a;
  int64_t a_row, a_k;  // distance in A between rows, and between steps of k
  const S* panels;
  int64_t packed_k;  // steps of k in a packed panel
  S* c;
  int64_t c_row;
  bool add;
  int64_t first_k = 0;        // of the packed steps
  int64_t b_row = 0;          // where B is not packed: from one step of k to the next
  const S* next_a = nullptr;  // the strip of A after this one, fetched meanwhile; a_k is then 1
};
void multiply_strip(const Strip<float>& strip);
void multiply_strip(const Strip<double>& strip);

// Sums into a result of bf16.
struct NarrowedRows {
  int64_t rows, columns;
  const float* from;
  int64_t from_row;
  Bf16* to;
  int64_t to_row;
  bool add;
};
void narrow_rows(const NarrowedRows& part);

// A piece of a matrix as it enters the product: element (i, j) lies at data[i * stride + j], or at
// data[j * stride + i] when transposed.
template <typename T>
struct Matrix {
  const T* data;
  int64_t stride;
  bool transposed = false;

  Matrix at(int64_t i, int64_t j) const {
    return {transposed ? data + j * stride + i : data + i * stride + j, stride, transposed};
  }
};

// B[k, columns] into panels, num_blocks(columns, kPanelColumns) * kPanelColumns * k elements.
void pack_panels(const Matrix<float>& b, int64_t k, int64_t columns, float* panels);
void pack_panels(const Matrix<Bf16>& b, int64_t k, int64_t columns, float* panels);
void pack_panels(const Matrix<double>& b, int64_t k, int64_t columns, double* panels);

// A[rows, k] into strips, each [k][kStripRows]: a_row = 1, a_k = kStripRows, and strip i begins at
// packed + i * k * kStripRows.
void pack_strips(const Matrix<float>& a, int64_t rows, int64_t k, float* packed);
void pack_strips(const Matrix<Bf16>& a, int64_t rows, int64_t k, float* packed);
void pack_strips(const Matrix<double>& a, int64_t rows, int64_t k, double* packed);

// Where the processor multiplies pairs of bf16, products of bf16 with bf16 are packed as words of
// two steps of k, num_blocks(k, 2) of them; a strip's k counts words.
bool multiplies_pairs();
void multiply_pair_strip(const Strip<float>& strip);
void pack_pair_panels(const Matrix<Bf16>& b, int64_t k, int64_t columns, float* panels);
void pack_pair_strips(const Matrix<Bf16>& a, int64_t rows, int64_t k, float* packed);

}  // namespace tessera
