// SPDX-License-Identifier: Apache-2.0
// On Hopper's tensor cores where sizes and scales permit; else the plain products of decoded
// operands.
#include "exec/cuda/grouped_fp8_product.h"
#include "ops/fp8/decode_fp8_cuda.h"
#include "ops/moe/expert_fp8_product.h"
#include "ops/moe/plain_experts_cuda.h"

namespace tessera {
namespace {

ExpertFp8Product product_of(const CudaCall& call, bool dw) {
  const auto of = dw ? expert_fp8_dw_of : expert_fp8_product_of;
  return of(*call.operand(0).type, *call.operand(1).type, *call.operand(2).type,
            *call.operand(3).type);
}

// Scales by tiles and blocks, or one for each side.
bool has_grouped_scales(const ExpertFp8Product& p, bool dw) {
  if (p.first.scaling == Fp8Scaling::Tensor) return p.second.scaling == Fp8Scaling::Tensor;
  return p.first.scaling == Fp8Scaling::Tiles &&
         p.second.scaling == (dw ? Fp8Scaling::Tiles : Fp8Scaling::Blocks);
}

GroupedFp8Product grouped_of(const CudaCall& call, const ExpertFp8Product& p, bool dw) {
  return {.by_terms = dw,
          .rows = p.rows,
          .experts = p.experts,
          .k = dw ? p.first.rows : p.first.k,
          .n = p.second.rows,
          .a_format = *fp8_from_dtype(call.operand(0).type->dtype),
          .b_format = *fp8_from_dtype(call.operand(1).type->dtype),
          .a = call.operand(0).data,
          .b = call.operand(1).data,
          .a_scale = call.operand(2).as<float>(),
          .b_scale = call.operand(3).as<float>(),
          .scaled_apart = p.first.scaling != Fp8Scaling::Tensor,
          .c = call.result(0).data,
          .ends = call.operand(4).as<int32_t>(),
          .full_result = call.result(0).type->dtype == DType::Fp32,
          .accumulate = call.accumulates(0)};
}

template <typename T>
T* decoded(const CudaCall& call, size_t i, const Fp8Matrices& m, int64_t offset) {
  T* to = reinterpret_cast<T*>(call.workspace.data() + offset);
  decode_fp8(call, call.operand(i), call.operand(i + 2), m.matrices, m.rows, m.k, to);
  return to;
}

template <typename T, typename R>
void multiply_decoded(const CudaCall& call, const ExpertFp8Product& p, bool dw) {
  const T* first = decoded<T>(call, 0, p.first, 0);
  const T* second = decoded<T>(call, 1, p.second, ExpertFp8Workspace(p, dtype_of<T>()).second);
  const int64_t n = p.second.rows, k = p.first.k;
  PlainExperts<T, R> experts{.sizes = {.ends = call.operand(4).as<int32_t>(),
                                       .experts = static_cast<int>(p.experts),
                                       .m = dw ? static_cast<int>(p.first.rows) : 0,
                                       .n = static_cast<int>(n),
                                       .k = dw ? 0 : static_cast<int>(k),
                                       .accumulate = call.accumulates(0)},
                             .a = {first, k, 1, 0},
                             .b = {second, 1, k, dw ? 0 : n * k},
                             .c = {call.result(0).as<R>(), n, 1, dw ? p.first.rows * n : 0}};
  if (dw)
    run_plain_experts<true, T, R>(call, experts);
  else
    run_plain_experts<false, T, R>(call, experts);
}

void run(const CudaCall& call, bool dw) {
  const ExpertFp8Product p = product_of(call, dw);
  const DType wanted = call.result(0).type->dtype;
  const GroupedFp8Product grouped = grouped_of(call, p, dw);
  if (wanted != DType::Fp64 && has_grouped_scales(p, dw) && can_group(grouped))
    return enqueue_grouped(grouped, call.stream);
  if (wanted == DType::Fp64) return multiply_decoded<double, double>(call, p, dw);
  if (wanted == DType::Fp32) return multiply_decoded<Bf16, float>(call, p, dw);
  multiply_decoded<Bf16, Bf16>(call, p, dw);
}

}  // namespace

void expert_matmul_fp8_cuda(const CudaCall& call) { run(call, false); }
void expert_matmul_dw_fp8_cuda(const CudaCall& call) { run(call, true); }

}  // namespace tessera
