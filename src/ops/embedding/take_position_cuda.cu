// SPDX-License-Identifier: Apache-2.0
// One copy per sequence.
#include "ops/embedding/table_index_cuda.h"

namespace tessera {
namespace {

template <typename T>
__global__ void take_position_kernel(const T* x, const int32_t* index, T* y, int64_t positions,
                                     int64_t cols) {
  const int64_t i = blockIdx.x, position = index[i];
  const bool inside = position >= 0 && position < positions;
  for (int64_t c = threadIdx.x; c < cols; c += blockDim.x)
    y[i * cols + c] = inside ? x[(i * positions + position) * cols + c] : not_a_number<T>();
}

}  // namespace

void take_position_cuda(const CudaCall& call) {
  const TensorRef x = call.operand(0), index = call.operand(1), out = call.result(0);
  const int64_t sequences = index.type->num_elements();
  const int64_t positions = x.type->dims[index.type->dims.size()].size;
  dispatch_float(x.type->dtype, [&]<typename T>() {
    launch(call, {.blocks = static_cast<unsigned>(sequences), .threads = 128},
           take_position_kernel<T>, static_cast<const T*>(x.as<T>()),
           static_cast<const int32_t*>(index.as<int32_t>()), out.as<T>(), positions,
           out.type->num_elements() / sequences);
  });
}

}  // namespace tessera
