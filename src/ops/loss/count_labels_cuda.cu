// SPDX-License-Identifier: Apache-2.0
// Few integers: one block counts them.
#include "exec/cuda/kernel_launch.h"

namespace tessera {
namespace {

// Floats, whose labels are null, are counted by their type alone.
__global__ void count_labels_kernel(const int32_t* labels, int64_t count, double* result,
                                    bool accumulate) {
  double counted = 0;
  for (int64_t i = threadIdx.x; i < count; i += blockDim.x) counted += !labels || labels[i] >= 0;
  counted = block_sum(counted);
  if (threadIdx.x == 0) *result = (accumulate ? *result : 0.0) + counted;
}

}  // namespace

void count_labels_cuda(const CudaCall& call) {
  const TensorRef labels = call.operand(0);
  const bool counted = labels.type->dtype == DType::Int32;
  launch(call, {.blocks = 1, .threads = 1024}, count_labels_kernel,
         static_cast<const int32_t*>(counted ? labels.as<int32_t>() : nullptr),
         labels.type->num_elements(), call.result(0).as<double>(), call.accumulates(0));
}

}  // namespace tessera
