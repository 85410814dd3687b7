// SPDX-License-Identifier: Apache-2.0
// Shared by the kernels of concat and its gradient: z has `outer` x `repeats` rows of x_cols +
// y_cols elements, y has `outer`.
#pragma once

#include "core/tensor_type.h"

namespace tessera {

struct ConcatSizes {
  int64_t outer, repeats, x_cols, y_cols, rows, cols;  // rows and cols: of z

  ConcatSizes(const TensorType& x, const TensorType& y)
      : outer(y.num_elements() / y.dims.back().size),
        repeats(x.num_elements() / x.dims.back().size / outer),
        x_cols(x.dims.back().size),
        y_cols(y.dims.back().size),
        rows(outer * repeats),
        cols(x_cols + y_cols) {}
};

}  // namespace tessera
