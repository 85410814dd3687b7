// SPDX-License-Identifier: Apache-2.0
// On Hopper's tensor cores where dtype and sizes permit.
#include "exec/cuda/grouped_product.h"
#include "ops/moe/expert_contraction.h"
#include "ops/moe/plain_experts_cuda.h"

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

}  // namespace tessera
