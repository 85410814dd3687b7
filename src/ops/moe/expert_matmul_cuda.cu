// SPDX-License-Identifier: Apache-2.0
// On Hopper's tensor cores where dtype and sizes permit; else on a GPU's plain units.
#include "exec/cuda/grouped_product.h"
#include "ops/moe/expert_contraction.h"
#include "ops/moe/plain_experts_cuda.h"
#include "ops/moe/pool.h"

namespace tessera {
namespace {

// Weights that lie as [n, k] are those of which a gradient of the input is taken.
GroupedProduct grouped_product_of(const CudaCall& call, const ExpertContraction& c) {
  return {.form = c.w_outermost ? GroupedForm::Forward : GroupedForm::InputGradient,
          .rows = c.rows,
          .experts = c.experts,
          .k = c.w_outermost ? c.k : c.n,
          .n = c.w_outermost ? c.n : c.k,
          .a = call.operand(0).data,
          .b = call.operand(1).data,
          .c = call.result(0).data,
          .ends = call.operand(2).as<int32_t>()};
}

template <typename T, typename R>
void multiply(const CudaCall& call, const ExpertContraction& c) {
  run_plain_experts<false, T, R>(call, {.sizes = {.ends = call.operand(2).as<int32_t>(),
                                                  .experts = static_cast<int>(c.experts),
                                                  .m = 0,
                                                  .n = static_cast<int>(c.n),
                                                  .k = static_cast<int>(c.k),
                                                  .accumulate = false},
                                        .a = {call.operand(0).as<T>(), c.k, 1, 0},
                                        .b = {call.operand(1).as<T>(), c.w_outermost ? c.n : 1,
                                              c.w_outermost ? 1 : c.k, c.n * c.k},
                                        .c = {call.result(0).as<R>(), c.n, 1, 0}});
}

}  // namespace

void expert_matmul_cuda(const CudaCall& call) {
  const DType own = call.operand(0).type->dtype, wanted = call.result(0).type->dtype;
  const ExpertContraction c = expert_contraction_of(*call.operand(0).type, *call.operand(1).type);
  const GroupedProduct product = grouped_product_of(call, c);
  if (own == DType::Bf16 && wanted == DType::Bf16 && can_group(product))
    return enqueue_grouped(product, call.stream);
  dispatch_float(own, [&]<typename T>() {
    if (wanted == own)
      multiply<T, T>(call, c);
    else
      multiply<T, Accumulator<T>>(call, c);
  });
}

int64_t expert_matmul_cuda_workspace_bytes(const OpCall&, CausalAttention&) { return 0; }

namespace {

GroupedProduct grouped_dw_of(const CudaCall& call) {
  const TensorRef first = call.operand(0), second = call.operand(1), dw = call.result(0);
  return {.form = GroupedForm::WeightGradient,
          .rows = pool_rows(*first.type),
          .experts = first.type->dims[0].size,
          .k = row_size(*first.type),
          .n = row_size(*second.type),
          .a = first.data,
          .b = second.data,
          .c = dw.data,
          .ends = call.operand(2).as<int32_t>(),
          .full_result = dw.type->dtype == DType::Fp32,
          .accumulate = call.accumulates(0)};
}

template <typename T, typename R>
void multiply_dw(const CudaCall& call, const GroupedProduct& p) {
  run_plain_experts<true, T, R>(call, {.sizes = {.ends = p.ends,
                                                 .experts = static_cast<int>(p.experts),
                                                 .m = static_cast<int>(p.k),
                                                 .n = static_cast<int>(p.n),
                                                 .k = 0,
                                                 .accumulate = p.accumulate},
                                       .a = {call.operand(0).as<T>(), 1, p.k, 0},
                                       .b = {call.operand(1).as<T>(), p.n, 1, 0},
                                       .c = {call.result(0).as<R>(), p.n, 1, p.k * p.n}});
}

}  // namespace

void expert_matmul_dw_cuda(const CudaCall& call) {
  const DType own = call.operand(0).type->dtype, wanted = call.result(0).type->dtype;
  const GroupedProduct product = grouped_dw_of(call);
  if (own == DType::Bf16 && can_group(product)) return enqueue_grouped(product, call.stream);
  dispatch_float(own, [&]<typename T>() {
    if (wanted == own)
      multiply_dw<T, T>(call, product);
    else
      multiply_dw<T, Accumulator<T>>(call, product);
  });
}

int64_t expert_matmul_dw_cuda_workspace_bytes(const OpCall&, CausalAttention&) { return 0; }

}  // namespace tessera
