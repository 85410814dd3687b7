// SPDX-License-Identifier: Apache-2.0
// The matmul of a call of matmul or matmul_epilogue, on a GPU.
#pragma once

#include "exec/cuda/cuda_call.h"
#include "exec/cuda/matrix_products.h"
#include "ops/matmul/contraction.h"

namespace tessera {

inline DeviceProduct product_of(const CudaCall& call, const TensorRef& result) {
  const TensorRef x = call.operand(0), w = call.operand(1);
  const Contraction c = contraction_of(*x.type, *w.type);
  return {.m = c.m,
          .n = c.n,
          .k = c.k,
          .dtype = x.type->dtype,
          .result_dtype = result.type->dtype,
          .a = {x.data, c.x_outermost ? c.m : c.k, c.x_outermost},
          .b = {w.data, c.w_outermost ? c.n : c.k, !c.w_outermost},
          .c = result.data,
          .c_stride = c.n,
          .accumulate = call.accumulates(0)};
}

}  // namespace tessera
