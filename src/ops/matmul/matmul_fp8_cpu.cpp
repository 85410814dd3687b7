// SPDX-License-Identifier: Apache-2.0
// The reference: operands are decoded into the workspace, then multiplied.
#include "exec/cpu/cpu_call.h"
#include "exec/cpu/gemm.h"
#include "ops/matmul/finished_rows_cpu.h"
#include "ops/matmul/fp8_product.h"

namespace tessera {
namespace {

// A matrix [rows, k] of operand `i`, whose scale is operand i + 2.
template <typename T>
const T* decode(const CpuCall& call, size_t i, int64_t rows, int64_t k, std::byte* to) {
  const TensorRef from = call.operand(i);
  const Fp8 format = *fp8_from_dtype(from.type->dtype);
  const auto* bytes = reinterpret_cast<const uint8_t*>(from.data);
  const float* scales = call.operand(i + 2).as<float>();
  const Fp8ScaleIndex index{fp8_scaling_of(*call.operand(i + 2).type), rows, k};
  T* decoded = reinterpret_cast<T*>(to);
  call.threads.run_ranges(rows, 1, [&](int64_t begin, int64_t end, int) {
    for (int64_t row = begin; row < end; ++row)
      for (int64_t c = 0; c < k; ++c)
        decoded[row * k + c] =
            store<T>(fp8_value(bytes[row * k + c], format) * scales[index(row, c)]);
  });
  return decoded;
}

template <typename R>
void add_rows(R* y, const R* addend, int64_t count) {
  for (int64_t i = 0; i < count; ++i) y[i] = store<R>(load(addend[i]) + load(y[i]));
}

// T: decoded operands.
template <typename T, typename R>
void multiply(const CpuCall& call) {
  const Contraction c = contraction_of(*call.operand(0).type, *call.operand(1).type);
  const Fp8Workspace places({*call.operand(0).type, *call.operand(1).type, *call.operand(2).type,
                             *call.operand(3).type, *call.result(0).type});
  const T* x = decode<T>(call, 0, c.m, c.k, call.workspace.data() + places.x);
  const T* w = decode<T>(call, 1, c.n, c.k, call.workspace.data() + places.w);
  Gemm<T, T, R> g{.m = c.m,
                  .n = c.n,
                  .k = c.k,
                  .a = {x, c.k, false},
                  .b = {w, c.k, true},
                  .c = call.result(0).as<R>(),
                  .c_stride = c.n,
                  .accumulate = call.accumulates(0)};
  const R* addend = call.operand(4) ? call.operand(4).as<R>() : nullptr;
  const FinishedRows epilogue(
      c.n, [&](int64_t at, int64_t, int64_t count) { add_rows(g.c + at, addend + at, count); });
  if (addend) g.tile_done = &epilogue;
  gemm(g, call.threads, call.workspace.subspan(static_cast<size_t>(places.bytes)));
}

}  // namespace

void matmul_fp8_cpu(const CpuCall& call) {
  switch (call.result(0).type->dtype) {
    case DType::Fp64:
      return multiply<double, double>(call);
    case DType::Fp32:
      return multiply<Bf16, float>(call);
    default:
      return multiply<Bf16, Bf16>(call);
  }
}

}  // namespace tessera
