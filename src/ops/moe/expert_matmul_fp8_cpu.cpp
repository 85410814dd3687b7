// SPDX-License-Identifier: Apache-2.0
// The reference: operands are decoded into the workspace, then multiplied as expert_matmul and
// expert_matmul_dw do.
#include "exec/cpu/cpu_call.h"
#include "exec/cpu/gemm.h"
#include "ops/moe/expert_fp8_product.h"

namespace tessera {
namespace {

// Operand i, whose scale is operand i + 2. `turned`: as [k, rows], of one matrix.
template <typename T>
const T* decode_matrices(const CpuCall& call, size_t i, const Fp8Matrices& m, bool turned,
                         std::byte* to) {
  const TensorRef from = call.operand(i);
  const Fp8 format = *fp8_from_dtype(from.type->dtype);
  const auto* bytes = reinterpret_cast<const uint8_t*>(from.data);
  const float* scales = call.operand(i + 2).as<float>();
  const Fp8ScaleIndex index{m.scaling, m.rows, m.k};
  T* decoded = reinterpret_cast<T*>(to);
  call.threads.run_ranges(m.matrices * m.rows, 1, [&](int64_t begin, int64_t end, int) {
    for (int64_t row = begin; row < end; ++row)
      for (int64_t c = 0; c < m.k; ++c) {
        const int64_t own = row % m.rows;
        const float scale = scales[row / m.rows * index.step() + index(own, c)];
        decoded[turned ? c * m.rows + own : row * m.k + c] =
            store<T>(fp8_value(bytes[row * m.k + c], format) * scale);
      }
  });
  return decoded;
}

template <typename T, typename R>
void multiply(const CpuCall& call, const ExpertFp8Product& p, bool dw) {
  const ExpertFp8Workspace places(p, dtype_of<T>());
  std::byte* space = call.workspace.data();
  const T* first = decode_matrices<T>(call, 0, p.first, dw, space);
  const T* second = decode_matrices<T>(call, 1, p.second, dw, space + places.second);
  const int64_t m = dw ? p.first.rows : p.rows, n = p.second.rows, k = dw ? p.rows : p.first.k;
  grouped_gemm<T, T, R>({.first = {.m = m,
                                   .n = n,
                                   .k = k,
                                   .a = {first, dw ? m : k, dw},
                                   .b = {second, dw ? n : k, !dw},
                                   .c = call.result(0).as<R>(),
                                   .c_stride = n,
                                   .accumulate = call.accumulates(0)},
                         .ragged = dw ? Ragged::Depth : Ragged::Rows,
                         .groups = p.experts,
                         .ends = call.operand(4).as<int32_t>()},
                        call.threads, call.workspace.subspan(static_cast<size_t>(places.bytes)));
}

void multiply(const CpuCall& call, const ExpertFp8Product& p, bool dw) {
  switch (call.result(0).type->dtype) {
    case DType::Fp64:
      return multiply<double, double>(call, p, dw);
    case DType::Fp32:
      return multiply<Bf16, float>(call, p, dw);
    default:
      return multiply<Bf16, Bf16>(call, p, dw);
  }
}

ExpertFp8Product product_of(const CpuCall& call, bool dw) {
  const auto of = dw ? expert_fp8_dw_of : expert_fp8_product_of;
  return of(*call.operand(0).type, *call.operand(1).type, *call.operand(2).type,
            *call.operand(3).type);
}

}  // namespace

void expert_matmul_fp8_cpu(const CpuCall& call) { multiply(call, product_of(call, false), false); }
void expert_matmul_dw_fp8_cpu(const CpuCall& call) { multiply(call, product_of(call, true), true); }

}  // namespace tessera
