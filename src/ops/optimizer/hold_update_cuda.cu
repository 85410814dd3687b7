// SPDX-License-Identifier: Apache-2.0
// One number, by which the updates that follow change nothing where it is infinite.
#include "exec/cuda/kernel_launch.h"

namespace tessera {
namespace {

__global__ void hold_update_kernel(const double* norm_squares, const double* need, double* held) {
  *held = *need <= 1 ? *norm_squares : HUGE_VAL;  // held for NaN too
}

}  // namespace

void hold_update_cuda(const CudaCall& call) {
  launch(call, {.blocks = 1, .threads = 1}, hold_update_kernel,
         static_cast<const double*>(call.operand(0).as<double>()),
         static_cast<const double*>(call.operand(1).as<double>()), call.result(0).as<double>());
}

}  // namespace tessera
