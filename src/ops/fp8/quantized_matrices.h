// SPDX-License-Identifier: Apache-2.0
// What a call of quantize makes of x: one or two matrices of bytes, each with its scale.
#pragma once

#include <array>

#include "core/narrow_floats.h"
#include "ir/op_def.h"
#include "ops/fp8/fp8_scaling.h"

namespace tessera {

// One of them, as a view of x: element (i, j) is x[i * row_stride + j * column_stride]; so are
// those of further matrices, each rows * k elements on.
struct QuantizedMatrix {
  size_t bytes = 0, scale = 0;  // results of the call
  int64_t rows = 0, k = 0, row_stride = 0, column_stride = 0;
};

struct QuantizedMatrices {
  Fp8 format = Fp8::E4m3;
  Fp8Scaling scaling = Fp8Scaling::Tensor;
  int64_t count = 1, outer = 1, inner = 1;  // x as matrices
  std::optional<QuantizedMatrix> as_is = {}, turned = {};
};

// For calls that quantize's infer_types has accepted. Allocates nothing, because kernels call it
// too.
// The outermost `matrices` dims of x count matrices; those up to `split` are their rows.
inline QuantizedMatrices quantized_matrices(const Attributes& attributes, const TensorType& x,
                                            int64_t matrices, int64_t split) {
  QuantizedMatrices all{.format = *fp8_from_name(attributes.word("format")),
                        .scaling = *fp8_scaling_from_name(attributes.word("scaling"))};
  for (size_t i = 0; i < x.dims.size(); ++i) {
    const auto at = static_cast<int64_t>(i);
    (at < matrices ? all.count : at < split ? all.outer : all.inner) *= x.dims[i].size;
  }
  const std::string& layout = attributes.word("layout");
  if (layout != "turned")
    all.as_is = {.bytes = 0,
                 .scale = 1,
                 .rows = all.outer,
                 .k = all.inner,
                 .row_stride = all.inner,
                 .column_stride = 1};
  if (layout != "as_is") {
    const size_t first = all.as_is ? 2 : 0;
    all.turned = {.bytes = first,
                  .scale = first + 1,
                  .rows = all.inner,
                  .k = all.outer,
                  .row_stride = 1,
                  .column_stride = all.inner};
  }
  return all;
}

inline QuantizedMatrices quantized_matrices(const Attributes& attributes, const TensorType& x) {
  return quantized_matrices(attributes, x, attributes.integer("matrices"),
                            attributes.integer("split"));
}
// Of quantize_pool, whose rows are those of the pool.
inline QuantizedMatrices quantized_pool(const Attributes& attributes, const TensorType& x) {
  return quantized_matrices(attributes, x, 0, 2);
}

}  // namespace tessera
