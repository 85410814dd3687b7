// SPDX-License-Identifier: Apache-2.0
// One grouped product over the rank's threads, cut by the numbers of rows.
#include "exec/cpu/cpu_call.h"
#include "exec/cpu/gemm.h"
#include "ops/moe/expert_contraction.h"
#include "ops/moe/pool.h"

namespace tessera {
namespace {

template <typename T, typename R>
void multiply(const CpuCall& call) {
  const ExpertContraction c = expert_contraction_of(*call.operand(0).type, *call.operand(1).type);
  const T *x = call.operand(0).as<T>(), *w = call.operand(1).as<T>();
  grouped_gemm<T, T, R>({.first = {.m = c.rows,
                                   .n = c.n,
                                   .k = c.k,
                                   .a = {x, c.k},
                                   .b = {w, c.w_outermost ? c.n : c.k, !c.w_outermost},
                                   .c = call.result(0).as<R>(),
                                   .c_stride = c.n},
                         .ragged = Ragged::Rows,
                         .groups = c.experts,
                         .ends = call.operand(2).as<int32_t>()},
                        call.threads, call.workspace);
}

}  // namespace

void expert_matmul_cpu(const CpuCall& call) {
  dispatch_float(call.operand(0).type->dtype, [&]<typename T>() {
    if (call.result(0).type->dtype == dtype_of<T>())
      multiply<T, T>(call);
    else
      multiply<T, Accumulator<T>>(call);
  });
}

// One grouped product whose depth is an expert's rows, in the order of the pool.
namespace {

template <typename T, typename R>
void multiply_dw(const CpuCall& call) {
  const TensorRef first = call.operand(0), second = call.operand(1);
  const int64_t m = row_size(*first.type), n = row_size(*second.type);
  grouped_gemm<T, T, R>({.first = {.m = m,
                                   .n = n,
                                   .k = pool_rows(*first.type),
                                   .a = {first.as<T>(), m, true},
                                   .b = {second.as<T>(), n},
                                   .c = call.result(0).as<R>(),
                                   .c_stride = n,
                                   .accumulate = call.accumulates(0)},
                         .ragged = Ragged::Depth,
                         .groups = first.type->dims[0].size,
                         .ends = call.operand(2).as<int32_t>()},
                        call.threads, call.workspace);
}

}  // namespace

void expert_matmul_dw_cpu(const CpuCall& call) {
  dispatch_float(call.operand(0).type->dtype, [&]<typename T>() {
    if (call.result(0).type->dtype == dtype_of<T>())
      multiply_dw<T, T>(call);
    else
      multiply_dw<T, Accumulator<T>>(call);
  });
}

}  // namespace tessera
