// SPDX-License-Identifier: Apache-2.0
// On Hopper's tensor cores where dtype and sizes permit.
#include "exec/cuda/grouped_product.h"
#include "ops/moe/plain_experts_cuda.h"
#include "ops/moe/pool.h"

namespace tessera {
namespace {

GroupedProduct grouped_product_of(const CudaCall& call) {
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
void multiply(const CudaCall& call, const GroupedProduct& p) {
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
  const GroupedProduct product = grouped_product_of(call);
  if (own == DType::Bf16 && can_group(product)) return enqueue_grouped(product, call.stream);
  dispatch_float(own, [&]<typename T>() {
    if (wanted == own)
      multiply<T, T>(call, product);
    else
      multiply<T, Accumulator<T>>(call, product);
  });
}

int64_t expert_matmul_dw_cuda_workspace_bytes(const OpCall&, CausalAttention&) { return 0; }

}  // namespace tessera
