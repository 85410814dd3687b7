// SPDX-License-Identifier: Apache-2.0
// Rows in registers: see norm_cuda.h.
#include "ops/norm/norm_cuda.h"
#include "ops/norm/norm_grad_cuda.h"

namespace tessera {

void rms_norm_cuda(const CudaCall& call) {
  const TensorRef x = call.operand(0), gain = call.operand(1), largest = call.result(2);
  const int64_t cols = gain.type->num_elements();
  if (largest) clear_largest_entry(call, largest);
  dispatch_float(x.type->dtype, [&]<typename T>() {
    using A = Accumulator<T>;
    run_norm<false, T>(call, {.x = x.as<T>(),
                              .gain = gain.as<T>(),
                              .bias = nullptr,
                              .y = call.result(0).as<T>(),
                              .mean = nullptr,
                              .rstd = call.result(1).as<A>(),
                              .rows = x.type->num_elements() / cols,
                              .cols = static_cast<int>(cols),
                              .epsilon = static_cast<A>(call.attributes.real("epsilon")),
                              .largest = largest ? largest.as<float>() : nullptr});
  });
}

// One pass over x and dy: see norm_grad_cuda.h.
void rms_norm_grad_cuda(const CudaCall& call) {
  const TensorRef x = call.operand(0), gain = call.operand(1), more = call.operand(4);
  const TensorRef largest = call.result(2);
  const int64_t cols = gain.type->num_elements();
  if (largest) clear_largest_entry(call, largest);
  dispatch_float(x.type->dtype, [&]<typename T>() {
    using A = Accumulator<T>;
    run_norm_grad<false, T>(call, {.x = x.as<T>(),
                                   .gain = gain.as<T>(),
                                   .dy = call.operand(3).as<T>(),
                                   .more = more ? more.as<T>() : nullptr,
                                   .mean = nullptr,
                                   .rstd = call.operand(2).as<A>(),
                                   .dx = call.result(0).as<T>(),
                                   .rows = x.type->num_elements() / cols,
                                   .cols = static_cast<int>(cols),
                                   .largest = largest ? largest.as<float>() : nullptr});
  });
}

int64_t rms_norm_grad_cuda_workspace_bytes(const OpCall& call, CausalAttention&) {
  return norm_grad_workspace_bytes(call, 1);
}

}  // namespace tessera
