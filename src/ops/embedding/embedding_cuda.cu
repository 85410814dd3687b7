// SPDX-License-Identifier: Apache-2.0
// One copy per index; zeros where another shard has the row.
#include "ops/embedding/table_index_cuda.h"

namespace tessera {
namespace {

template <typename T>
__global__ void embedding_kernel(DeviceTableIndex index, const T* table, T* y, int64_t cols) {
  const int64_t i = blockIdx.x, row = index.row(i);
  const T missing = index.outside(i) ? not_a_number<T>() : T{};
  for (int64_t c = threadIdx.x; c < cols; c += blockDim.x)
    y[i * cols + c] = row < 0 ? missing : table[row * cols + c];
}

}  // namespace

void embedding_cuda(const CudaCall& call) {
  const TensorRef table = call.operand(0), index = call.operand(1);
  const int64_t rows = table.type->dims.front().size, cols = table.type->num_elements() / rows;
  dispatch_float(table.type->dtype, [&]<typename T>() {
    launch(call, {.blocks = static_cast<unsigned>(index.type->num_elements()), .threads = 128},
           embedding_kernel<T>, DeviceTableIndex(index, call.operand(2), rows),
           static_cast<const T*>(table.as<T>()), call.result(0).as<T>(), cols);
  });
}

}  // namespace tessera
