// SPDX-License-Identifier: Apache-2.0
// The matmul of a call of matmul or matmul_epilogue.
#pragma once

#include "exec/cpu/cpu_call.h"
#include "exec/cpu/gemm.h"
#include "ops/matmul/contraction.h"

namespace tessera {

template <typename T, typename R>
Gemm<T, T, R> product_of(const CpuCall& call, const TensorRef& result) {
  const Contraction c = contraction_of(*call.operand(0).type, *call.operand(1).type);
  return {.m = c.m,
          .n = c.n,
          .k = c.k,
          .a = {call.operand(0).as<T>(), c.x_outermost ? c.m : c.k, c.x_outermost},
          .b = {call.operand(1).as<T>(), c.w_outermost ? c.n : c.k, !c.w_outermost},
          .c = result.as<R>(),
          .c_stride = c.n,
          .accumulate = call.accumulates(0)};
}

}  // namespace tessera
