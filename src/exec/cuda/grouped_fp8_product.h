// SPDX-License-Identifier: Apache-2.0
// Grouped products (grouped_product.h) of scaled 8-bit floats, which lie in rows of what is summed
// over on both sides.
#pragma once

#include <cuda_runtime_api.h>

#include "core/narrow_floats.h"
#include "ops/fp8/fp8_scaling.h"

namespace tessera {

struct GroupedFp8Product {
  // False: c[rows, n] = a[rows, k] b[expert][n, k]^T. True, a weight gradient: for each expert
  // c[k, n] = a[k, rows] b[n, rows]^T over its rows.
  bool by_terms;
  int64_t rows, experts, k, n;  // rows that there is room for
  Fp8 a_format, b_format;
  const void *a, *b;
  // One number each; or, scaled apart, those of tiles of a and of blocks of b, by terms of tiles of
  // both.
  const float *a_scale, *b_scale;
  bool scaled_apart;
  void* c;                   // bf16
  const int32_t* ends;       // [experts]
  bool full_result = false;  // fp32, of a weight gradient
  bool accumulate = false;   // into a weight gradient
};

// Formats and sizes that tensor cores and the copy engine take, on a GPU of compute capability 9.0.
bool can_group(const GroupedFp8Product& product);
// Rows beyond the last end are not written. Of a weight gradient, bytes beyond it must be zeros up
// to the next multiple of 128 rows, as quantize_pool leaves them.
void enqueue_grouped(const GroupedFp8Product& product, cudaStream_t stream);

}  // namespace tessera
