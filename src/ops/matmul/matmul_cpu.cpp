// SPDX-License-Identifier: Apache-2.0
// The contraction as one matmul over the rank's threads.
#define HWY_TARGET_INCLUDE "ops/matmul/matmul_cpu.cpp"
#include "exec/cpu/each_target.h"
#include "exec/cpu/lanes.h"
#include "ops/matmul/finished_rows_cpu.h"
#include "ops/matmul/product_cpu.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::HWY_NAMESPACE {
namespace {

// The matmul is rounded before the sum, as if they were separate ops.
template <typename R>
void add_row(R* y, const R* addend, int64_t count) {
#pragma GCC ivdep
  for (int64_t i = 0; i < count; ++i) y[i] = store<R>(load(addend[i]) + load(y[i]));
}

template <typename T, typename R>
void multiply(const CpuCall& call) {
  Gemm<T, T, R> g = product_of<T, R>(call, call.result(0));
  if (!call.operand(2)) return gemm(g, call.threads, call.workspace);
  const R* addend = call.operand(2).as<R>();
  const FinishedRows sums(
      g.n, [&](int64_t at, int64_t, int64_t count) { add_row(g.c + at, addend + at, count); });
  g.tile_done = &sums;
  gemm(g, call.threads, call.workspace);
}

}  // namespace

void matmul_cpu(const CpuCall& call) {
  dispatch_float(call.operand(0).type->dtype, [&]<typename T>() {
    if (call.result(0).type->dtype == dtype_of<T>())
      multiply<T, T>(call);
    else
      multiply<T, Accumulator<T>>(call);
  });
}

}  // namespace tessera::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera {
TESSERA_KERNEL(matmul_cpu)
}  // namespace tessera
#endif
