// SPDX-License-Identifier: Apache-2.0
// How a tensor is cut into a part for each rank, as collectives read and write it.
#pragma once

#include "comm/communicator.h"
#include "core/tensor_type.h"

namespace tessera {

// Parts along `dim` of a tensor whose dim is cut into `ranks` pieces.
inline Parts parts_along(const TensorType& whole, size_t dim, int64_t ranks) {
  int64_t outer = 1, inner = 1;
  for (size_t i = 0; i < dim; ++i) outer *= whole.dims[i].size;
  for (size_t i = dim; i < whole.dims.size(); ++i) inner *= whole.dims[i].size;
  return {.outer = outer,
          .outer_stride = inner,
          .middle = 1,
          .middle_stride = 0,
          .part_stride = inner / ranks,
          .inner = inner / ranks};
}

// Of one rank's share, read in the same order as parts_along reads a part.
inline Parts one_part_like(const Parts& parts) {
  return {.outer = parts.outer,
          .outer_stride = parts.middle * parts.inner,
          .middle = parts.middle,
          .middle_stride = parts.inner,
          .part_stride = 0,
          .inner = parts.inner};
}

}  // namespace tessera
