// SPDX-License-Identifier: Apache-2.0
// Rows in registers: see norm_cuda.h.
#include "ops/norm/norm_cuda.h"
#include "ops/norm/norm_grad_cuda.h"

namespace tessera {

void layer_norm_cuda(const CudaCall& call) {
  const TensorRef x = call.operand(0), gain = call.operand(1), bias = call.operand(2);
  const int64_t cols = gain.type->num_elements();
  dispatch_float(x.type->dtype, [&]<typename T>() {
    using A = Accumulator<T>;
    run_norm<true, T>(call, {.x = x.as<T>(),
                             .gain = gain.as<T>(),
                             .bias = bias ? bias.as<T>() : nullptr,
                             .y = call.result(0).as<T>(),
                             .mean = call.result(1).as<A>(),
                             .rstd = call.result(2).as<A>(),
                             .rows = x.type->num_elements() / cols,
                             .cols = static_cast<int>(cols),
                             .epsilon = static_cast<A>(call.attributes.real("epsilon"))});
  });
}

// One pass over x and dy: see norm_grad_cuda.h.
void layer_norm_grad_cuda(const CudaCall& call) {
  const TensorRef x = call.operand(0), gain = call.operand(1), more = call.operand(5);
  const int64_t cols = gain.type->num_elements();
  dispatch_float(x.type->dtype, [&]<typename T>() {
    using A = Accumulator<T>;
    run_norm_grad<true, T>(call, {.x = x.as<T>(),
                                  .gain = gain.as<T>(),
                                  .dy = call.operand(4).as<T>(),
                                  .more = more ? more.as<T>() : nullptr,
                                  .mean = call.operand(2).as<A>(),
                                  .rstd = call.operand(3).as<A>(),
                                  .dx = call.result(0).as<T>(),
                                  .rows = x.type->num_elements() / cols,
                                  .cols = static_cast<int>(cols)});
  });
}

int64_t layer_norm_grad_cuda_workspace_bytes(const OpCall& call, CausalAttention&) {
  return norm_grad_workspace_bytes(call, std::ssize(call.results) - 1);
}

}  // namespace tessera
